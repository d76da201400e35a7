#!/usr/bin/env python3
"""The emulator's counts against those of a GPU in a recording, as Markdown rows: emulated_recorded.py TREE KERNEL… --presets a,b

Needs no GPU: what it counted is in the recordings that come with the program (h200-PRESET). Every block is counted.
"""
import argparse
import json
import os
import subprocess

from emulated_table import COUNTERS, cell, counted


def profile(tree, kernel, preset, *more):
    """A profile at the accuracy that the kernel promises, or None: it does not take the problem, or was not recorded."""
    promised = next(k["accuracy"] for k in kernels(tree) if k["name"] == kernel)
    call = [f"{tree}/bin/convscope", "profile", kernel, "--preset", preset, "--accuracy", promised, "--json", *more]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, "CONVSCOPE_COUNT_ALL": "1"})
    return json.loads(done.stdout) if done.returncode == 0 else None


def kernels(tree):
    return json.loads(subprocess.run([f"{tree}/bin/convscope", "list", "kernels", "--json"], capture_output=True, text=True).stdout)["kernels"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree")
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--presets", required=True)
    options = parser.parse_args()
    print("| problem | kernel | load requests | load sectors | store requests | store sectors | wavefronts | conflicts | conflicts apart, of wavefronts |")
    print("|---|---|---|---|---|---|---|---|---|")
    equal = cells = 0
    for preset in options.presets.split(","):
        for kernel in options.kernels:
            there = profile(options.tree, kernel, preset, "--recording", f"h200-{preset}")
            here = there and profile(options.tree, kernel, preset, "--device", "emulator")
            if not here:
                continue
            hardware, emulator = counted(there), counted(here)
            if "load_requests" not in hardware or "load_requests" not in emulator:
                continue
            cells += 4
            equal += sum(hardware[c] == emulator[c] for c in COUNTERS[:4])
            conflicts = 100 * (emulator["shared_conflicts"] - hardware["shared_conflicts"]) / hardware["shared_wavefronts"]
            print(f"| {preset} | {kernel} | " + " | ".join(cell(hardware[c], emulator[c]) for c in COUNTERS) + f" | {conflicts:+.2f} % |", flush=True)
    print(f"\n{equal} of {cells} requests and sectors of loads and stores are the same number.")


if __name__ == "__main__":
    main()
