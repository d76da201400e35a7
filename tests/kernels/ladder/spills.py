#!/usr/bin/env python3
"""Registers that ptxas spills, held against what it spilled when the limits were written: spills.py FOLDER LIMITS

    spills.py FOLDER LIMITS [--nvcc VERSION] [--write]

FOLDER: the logs of the build (build/…/kernels/fatbin/*.log, nvcc -Xptxas=-v). LIMITS: a line for each kernel and
architecture that spills, with bytes of stores and of loads; any other spills nothing. Exit code 1 names who spills more,
and whose limit is too high; 77: the limits are of another nvcc, whose spills need not be this one's. --write: the limits
of the architectures in the logs become what is seen; those of others stay.
"""
import argparse
import glob
import os
import re
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def spills_in(text):
    """{(architecture, kernel): (bytes of stores, of loads)} of one log."""
    out, entry = {}, None
    for line in text.splitlines():
        if found := ENTRY.search(line):
            entry = (found[2], found[1])
        elif entry and (found := SPILLS.search(line)):
            out[entry] = (int(found[1]), int(found[2]))
            entry = None  # what follows may be a function that is no kernel
    return out


def read_limits(text):
    """The nvcc they are of, and the limits in the form of spills_in."""
    nvcc, limits = "", {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# nvcc "):
            nvcc = words[2]
        elif words and not line.startswith("#"):
            limits[words[0], words[1]] = (int(words[2]), int(words[3]))
    return nvcc, limits


def limits_text(nvcc, limits):
    lines = ["# Bytes of registers that ptxas spills: architecture, kernel, stores, loads (written by spills.py --write).",
             f"# nvcc {nvcc}"]
    lines += [f"{a} {k} {s} {l}" for (a, k), (s, l) in sorted(limits.items()) if s or l]
    return "\n".join(lines) + "\n"


def faults(seen, limits, whole=True):
    """whole: whether each limit must be of a kernel that was seen."""
    out = []
    for (architecture, kernel), (stores, loads) in sorted(seen.items()):
        most = limits.get((architecture, kernel), (0, 0))
        if stores > most[0] or loads > most[1]:
            out.append(f"{kernel} for {architecture} spills {stores} bytes of stores and {loads} of loads, "
                       f"it was {most[0]} and {most[1]}")
        elif (stores, loads) != most:
            out.append(f"{kernel} for {architecture} spills {stores} and {loads} bytes only: lower its limit of {most[0]} and {most[1]}")
    architectures = {a for a, _ in seen}
    if whole:
        out += [f"{k} for {a} has a limit and is not in the logs" for a, k in sorted(limits) if a in architectures and (a, k) not in seen]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("limits")
    parser.add_argument("--nvcc", default="", help="the version that made the logs, 13.0.88")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    logs = sorted(glob.glob(os.path.join(options.folder, "*.log")))
    if not logs:
        sys.exit(f"spills.py: no logs in {options.folder}")
    seen = {}
    for log in logs:
        with open(log, encoding="utf-8") as f:
            seen.update(spills_in(f.read()))
    if not seen:
        sys.exit(f"spills.py: the logs in {options.folder} name no kernel")
    text = ""
    if os.path.exists(options.limits):
        with open(options.limits, encoding="utf-8") as f:
            text = f.read()
    nvcc, limits = read_limits(text)
    if options.write:
        architectures = {a for a, _ in seen}
        kept = {k: v for k, v in limits.items() if k[0] not in architectures}
        with open(options.limits, "w", encoding="utf-8") as f:
            f.write(limits_text(options.nvcc or nvcc, {**kept, **seen}))
        return
    if options.nvcc and nvcc != options.nvcc:
        print(f"spills.py: the limits are of nvcc {nvcc}, the logs of {options.nvcc}")
        sys.exit(77)
    # Files that were not optimized spill what says nothing: their logs have another name.
    wrong = faults(seen, limits, whole=not glob.glob(os.path.join(options.folder, "*.quick")))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(seen)} kernels for {', '.join(sorted({a for a, _ in seen}))}: {sum(s > 0 or l > 0 for s, l in seen.values())} "
          "spill, none more than it did")


if __name__ == "__main__":
    main()
