#!/usr/bin/env python3
"""How often x-ray names what is wrong: every program that comes of assets/kernels/gather.cu by changing one token.

    token_mutants.py CONVSCOPE [--scatter] [--pairs N] [--seed S] [--json FILE]

Names become others of their kind (sizes; stride, padding, dilation, groups; positions; channels), one more or one less,
or a constant; operators become others. Each program is run on one small problem with groups and a bias, on which sizes
differ from each other, and so do the other parameters, and counted by its verdict: of those that are wrong, how many
have a sentence that says why. Right are those whose change makes no difference there. Printed besides: what was not
named. Takes some six minutes on two cores. --pairs: N programs in which two lines, drawn with the seed, have such a
change each. --scatter: of assets/kernels/scatter.cu.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import tempfile

KINDS = [["N", "Cin", "Cout", "K", "L", "Lout", "in_group", "out_group"], ["s", "p", "d", "g"], ["j", "t", "i", "k"],
         ["co", "ci", "n", "first"]]
OPERATORS = {"+": ["-"], "-": ["+"], "*": ["+"], "/": ["%", "*"], "%": ["/"], "<": ["<=", ">"], ">=": [">"],
             "!=": ["=="], "||": ["&&"], "+=": ["=", "-="]}
PARAMETERS = ["N", "Cin", "Cout", "K", "L", "Lout", "s", "p", "d", "g"]
TOKEN = re.compile(r"static_cast<[^>]*>|[A-Za-z_]\w*|\d+(?:\.\d+f)?|<=|>=|!=|==|\|\||&&|\+\+|\+=|[-+*/%<>=]")
PROBLEM = ("--batch 2 --in-channels 12 --out-channels 24 --kernel-size 5 --length 21 --stride 3 --padding 5 --dilation 2 "
           "--groups 4 --output-padding 1 --bias --samples 1 --trust --json --timeout 10").split()


def mutants(source):
    """(line, token, what stands for it, program) of each."""
    # The body of the last kernel, without what writes the sum.
    begin = source.rindex("  long long ")
    end = source.index("  y[id] = sum;", begin) if "  y[id] = sum;" in source[begin:] else len(source)
    body = source[begin:end]
    for m in TOKEN.finditer(body):
        token, (a, b) = m.group(), m.span()
        declared = re.search(r"(?:int|long|float)(?: [^;]*,)?\s*$", body[:a]) and re.match(r"\s*=[^=]", body[b:])
        others = list(OPERATORS.get(token, []))
        kind = next((k for k in KINDS if token in k), None)
        if kind and not declared:
            others += [o for o in kind if o != token and (o in PARAMETERS or re.search(rf"\b{o}\b", body[:a]))]
            others += [f"({token} + 1)", f"({token} - 1)"]
            others += {"p": ["0"], "d": ["0"], "k": ["0"], "s": ["1"], "g": ["1"]}.get(token, [])
        elif token in ("0", "1"):
            others += ["1" if token == "0" else "0"]
        for other in others:
            changed = body[:a] + other + body[b:]
            yield changed.split("\n")[body[:a].count("\n")].strip(), token, other, source[:begin] + changed + source[end:]


def pairs(source, count, seed):
    """Two of them at once, on different lines."""
    draw, singles, lines = random.Random(seed), list(mutants(source)), source.split("\n")
    changed = [next((k, new) for k, (old, new) in enumerate(zip(lines, m[3].split("\n"))) if old != new) for m in singles]
    while count > 0:
        a, b = draw.sample(range(len(singles)), 2)
        if changed[a][0] == changed[b][0]:
            continue
        both = lines.copy()
        for at, new in (changed[a], changed[b]):
            both[at] = new
        count -= 1
        yield (f"{singles[a][0]}   {singles[b][0]}", f"{singles[a][1]}, {singles[b][1]}", f"{singles[a][2]}, {singles[b][2]}",
               "\n".join(both))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("convscope")
    parser.add_argument("--scatter", action="store_true", help="of the sample that scatters")
    parser.add_argument("--pairs", type=int, help="how many programs with two changes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="all verdicts")
    options = parser.parse_args()
    sample = os.path.join(os.path.dirname(__file__), "../../assets/kernels", "scatter.cu" if options.scatter else "gather.cu")
    folder, rows = tempfile.mkdtemp(), []
    environment = dict(os.environ, CONVSCOPE_CACHE=os.path.join(folder, "cache"))
    with open(sample, encoding="utf-8") as f:
        source = f.read()
    all_mutants = list(pairs(source, options.pairs, options.seed) if options.pairs else mutants(source))
    for number, (line, token, other, program) in enumerate(all_mutants):
        path = os.path.join(folder, f"{number:03}.cu")
        with open(path, "w", encoding="utf-8") as f:
            f.write(program)
        done = subprocess.run([options.convscope, "run", path, *PROBLEM], capture_output=True, text=True, env=environment)
        try:
            verdict = json.loads(done.stdout)["verdict"]
        except (ValueError, KeyError):
            verdict = {"status": "no verdict", "sentence": done.stderr[-200:]}
        rows.append(dict(line=line, token=token, other=other, **{k: verdict.get(k) for k in ("status", "sentence", "cause", "cause_reason")}))
    count = collections.Counter(r["status"] for r in rows)
    wrong = [r for r in rows if r["status"] == "wrong"]
    named = [r for r in wrong if r["cause"]]
    print(f"{len(rows)} programs: " + ", ".join(f"{n} {status}" for status, n in count.most_common()))
    print(f"of {len(wrong)} that are wrong {len(named)} are told why ({100 * len(named) / max(1, len(wrong)):.0f} %)")
    for r in wrong:
        if not r["cause"]:
            print(f"    {r['token']} -> {r['other']}: {r['line']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
