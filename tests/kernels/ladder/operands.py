#!/usr/bin/env python3
"""Whether registers that wgmma still reads are written in the machine code of kernels.

    operands.py FOLDER [--cuobjdump PROGRAM]

FOLDER: fatbins of the build (build/…/kernels/fatbin). Products on Hopper's tensor cores run on while the warp goes on, and
read their A operand from its registers until they are waited for (PTX ISA, "Asynchronous warpgroup level matrix
instructions"). ptxas does not keep a register to them whose value is a copy of another's: results are then wrong now and
then, on a GPU only. Followed is the code as it stands, line by line: from each HGMMA to the WARPGROUP.DEPBAR that waits
for its group. Exit code 1 names what writes too early; 77: there is no cuobjdump.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

FUNCTION = re.compile(r"Function : (\S+)")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Za-z0-9_.]+)\s*(.*?)\s*;")
REGISTER = re.compile(r"(?:U?P\w+, )*R(\d+)\b")
# Their first operand is no register that is written.
READ_ONLY = ("ST", "RED", "ATOMS.POP", "BRA", "SYNCS.ARRIVE", "SYNCS.PHASECHK", "WARP", "ISETP", "FSETP", "R2UR", "U", "BAR", "EXIT")


def written_by(name, operands):
    """Registers that an instruction writes."""
    if name.startswith(READ_ONLY) or not (first := REGISTER.match(operands)):
        return []
    words = 4 if ".128" in name else 2 if ".64" in name or ".WIDE" in name or name.startswith("CS2R") else 1
    return range(int(first[1]), int(first[1]) + words)


def products_in(text):
    """How many products with A in registers."""
    return len(re.findall(r"HGMMA\S* R\d+, R\d+", text))


def faults(text):
    """Of cuobjdump -sass: (kernel, where, what it writes) for each write to an operand that may not have been read."""
    out, kernel, groups, open_group = [], "", [], set()
    for line in text.splitlines():
        if found := FUNCTION.search(line):
            kernel, groups, open_group = found[1], [], set()
            continue
        if not (found := INSTRUCTION.match(line)):
            continue
        where, name, operands = found[1], found[2], found[3]
        if name.startswith("HGMMA"):
            if operand := re.match(r"R\d+, R(\d+)\b", operands):
                open_group |= set(range(int(operand[1]), int(operand[1]) + 4))
            if "gsb0" in operands:  # the group's last
                groups.append(open_group)
                open_group = set()
        elif name.startswith("WARPGROUP.DEPBAR"):
            left = int(re.search(r"gsb0, 0x([0-9a-f]+)", operands)[1], 16)
            groups = groups[-left:] if left else []
        else:
            read = open_group.union(*groups)
            out += [(kernel, where, f"{name} writes R{r}") for r in written_by(name, operands) if r in read]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump")
    options = parser.parse_args()
    if not os.path.exists(options.cuobjdump):
        print("skipped: there is no cuobjdump, which reads machine code")
        return 77
    fatbins = sorted(glob.glob(os.path.join(options.folder, "*.fatbin")))
    products, found = 0, []
    for path in fatbins:
        text = subprocess.run([options.cuobjdump, "-sass", path], capture_output=True, text=True, check=False).stdout
        products += products_in(text)
        found += [f"{os.path.basename(path)}: {kernel} at {where}: {what}" for kernel, where, what in faults(text)]
    print("\n".join(found[:50]) or f"{products} products in {len(fatbins)} files: no operand is written before it is read")
    return 1 if found or not fatbins else 0


if __name__ == "__main__":
    sys.exit(main())
