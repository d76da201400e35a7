#!/usr/bin/env python3
"""Emulated counters against a GPU's, as Markdown: emulated_table.py RECORDING [EXPLANATIONS.md [EMULATED]]

Reads the profiles of a recording that emulated_counters.sh made on a GPU. A profile with all counters has the hardware's
and, by source line, the emulator's of the same problem; both are whole counts, so what differs is a difference. EMULATED
is a recording of the same kernels and problems on the emulator (DEVICE=emulator emulated_counters.sh), whose counts take
the place of those that were made beside the GPU: for an emulator that was changed since.
"""
import gzip
import json
import sys

COUNTERS = ["load_requests", "load_sectors", "store_requests", "store_sectors", "shared_wavefronts", "shared_conflicts"]


def counted(profile):
    values = {}
    for s in profile["counters"]["sets"]:
        for name, v in s["values"].items():
            values.setdefault(name, v["value"])
    return values


def emulated(profile):
    sums = dict.fromkeys(COUNTERS, 0.0)
    for line in profile["lines"]:
        for name in COUNTERS:
            sums[name] += line["values"].get(name, {"value": 0})["value"]
    return sums


def describe(p):
    words = f'{p["batch"]} × {p["in_channels"]}→{p["out_channels"]}, K {p["kernel_size"]}, L {p["length"]}, s {p["stride"]}, p {p["padding"]}'
    if p["output_padding"]:
        words += f', op {p["output_padding"]}'
    return words + f', d {p["dilation"]}, g {p["groups"]}'


def cell(hardware, emulator):
    if hardware is None:
        return "not counted"
    if hardware == emulator:
        return f"{hardware:,.0f} ="
    if hardware == 0:
        return f"0 / {emulator:,.0f}"
    return f"{hardware:,.0f} / {emulator:,.0f} ({100 * (emulator - hardware) / hardware:+.2f} %)"


def read(path):
    raw = open(path, "rb").read()
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)["recording"]


def question(profile):
    return profile["kernel"]["name"], describe(profile["problem"])


def main():
    recording = read(sys.argv[1])
    newer = {}
    if len(sys.argv) > 3:
        for a in read(sys.argv[3])["answers"]:
            if a["request"]["type"] == "profile":
                newer[question(a["answer"])] = a["answer"]
    about = recording["device"]
    print(f"# Emulated counters against those of an {about['name']}\n")
    driver = next((a["answer"]["conditions"].get("driver") for a in recording["answers"] if a["request"]["type"] == "profile"), None)
    print(f"{about['name']}, driver {driver or about['driver']}, {recording['date']}, convscope {recording['convscope']}, f32, seed 42.")
    print("Command: `tests/bench/emulated_counters.sh TREE OUT.convscope` on the GPU, `tests/bench/emulated_table.py OUT.convscope` anywhere.\n")
    print("Hardware / emulator (how much more the emulator counts); `=`: the same number. Wavefronts and conflicts are of shared memory.\n")
    kernels, problems, equal, cells = set(), [], 0, 0
    rows = []
    for a in recording["answers"]:
        if a["request"]["type"] != "profile" or a["answer"]["kernel"]["kind"] != "kernel":
            continue
        profile, name = a["answer"], a["answer"]["kernel"]["name"]
        problem = describe(profile["problem"])
        if problem not in problems:
            problems.append(problem)
        if question(profile) in newer:
            for field in ("lines", "lines_source"):
                profile[field] = newer[question(profile)][field]
        if not profile["lines"]:
            rows.append((problem, name, [profile.get("lines_reason", "")] + [""] * 6, ""))
            continue
        hardware, emulator = counted(profile), emulated(profile)
        kernels.add(name)
        for c in COUNTERS[:4]:
            cells += 1
            equal += hardware.get(c) == emulator[c]
        whole = profile["lines_source"].startswith("emulated, by tracing every access") or "every access" in profile["lines_source"]
        conflicts = ""
        if hardware.get("shared_wavefronts"):
            conflicts = f'{100 * (emulator["shared_conflicts"] - hardware["shared_conflicts"]) / hardware["shared_wavefronts"]:+.2f} %'
        rows.append((problem, name, ["all" if whole else profile["lines_source"].split("tracing ")[-1]]
                     + [cell(hardware.get(c), emulator[c]) for c in COUNTERS], conflicts))
    print(f"{len(kernels)} kernels on {len(problems)} problems; {equal} of {cells} requests and sectors of loads and stores are the same number.\n")
    for problem in problems:
        print(f"## {problem}\n")
        print("| kernel | blocks | load requests | load sectors | store requests | store sectors | wavefronts | conflicts | conflicts apart, of wavefronts |")
        print("|---|---|---|---|---|---|---|---|---|")
        for p, name, cells_of, conflicts in rows:
            if p == problem:
                print(f"| {name} | " + " | ".join(cells_of) + f" | {conflicts} |")
        print()
    if len(sys.argv) > 2:
        print(open(sys.argv[2]).read(), end="")


if __name__ == "__main__":
    main()
