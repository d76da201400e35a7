#!/usr/bin/env python3
"""The README's table of rungs, from what was measured (tests/bench/results/rungs.json).

    readme_rungs.py [--results FILE] [--readme FILE] [--take FILE …] [--write | --check]

Without --write or --check the table is printed. --check: exit code 1 if the README has another one. Each rung stands
beside the one that it follows ("after" in the results), and must be faster than it on one of the three problems; a
branch, for layers that these are not, on the layer that it names: exit code 1 if not.
--take: reports of `convscope bench --format json` (hot medians of the kernels in the table) or of `convscope run --json`
(the verdict of one) go into the results first; their problem must be one of the three presets of the table, at full
shape, and they must be of a GPU.
"""
import argparse
import datetime
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PRESETS = {  # batch, in, out, K, L, s, p, d
    "kernelbench-79": (16, 32, 64, 3, 131072, 2, 1, 2),
    "kernelbench-74": (32, 32, 64, 5, 131072, 1, 0, 3),
    "kernelbench-64": (64, 128, 128, 3, 65536, 1, 0, 1),
}
NAMES = ("batch", "in_channels", "out_channels", "kernel_size", "length", "stride", "padding", "dilation")
MARKS = {"right": "✓ ", "wrong": "✗ "}
BEGIN, END = "<!-- rungs: tests/bench/readme_rungs.py writes this table -->\n", "\n<!-- /rungs -->"


def three_digits(ms):
    return f"{ms:.0f}" if ms >= 99.95 else f"{ms:.1f}" if ms >= 9.995 else f"{ms:.2f}"


def cell(row, preset):
    at = row["ms"].get(preset)
    if at is None:  # it does not take the problem
        return "–"
    ms = three_digits(at["ms"])
    return MARKS.get(at.get("verdict"), "") + (f"**{ms}**" if row.get("best") else ms)


def gain(row, rows):
    """How many times as fast as the rung that it follows, on the problem where that is most: (times, in words).

    "after" names that rung; where its figures are of no row here (another type, a layer) they stand beside its name."""
    after = row["after"]
    ours = {after["at"]: after["at_ms"]} if "at" in after else {p: at["ms"] for p, at in row["ms"].items()}
    theirs = after.get("ms") or {p: at["ms"] for p, at in rows[after["rung"]]["ms"].items()}
    times, problem = max((theirs[p] / ms, p) for p, ms in ours.items() if p in theirs)
    where = "#" + problem.split("-")[1] if problem in PRESETS else problem
    kind = f" in {after['in']}" if "in" in after else ""
    return times, f"{times:.3g}× {after['rung']}{kind} ({where})"


def won(row, rows):
    """What it gains, in words; nothing where it follows none."""
    if "after" not in row:
        return ""
    times, words = gain(row, rows)
    if times <= 1:
        sys.exit(f"readme_rungs.py: {row['row']} is faster than {row['after']['rung']} on no problem: at best {words}")
    return words


def table(results):
    rows = {row["row"]: row for row in results["rows"]}
    lines = ["| kernel | idea | " + " | ".join("#" + p.split("-")[1] for p in PRESETS) + " | gain, at best |", "|---|---|---|---|---|---|"]
    branches = ["| branch | idea | layer | ms | before | gain |", "|---|---|---|---|---|---|"]
    for row in results["rows"]:
        words = won(row, rows)
        if row.get("branch"):
            after = row["after"]
            at = after["at"]
            branches.append(f"| {row['row']} | {row['idea']} | {at} | {after['at_ms']:.3f} | {after['ms'][at]:.3f} ({after['rung']}) | {words.split()[0]} |")
            continue
        if "at" in row.get("after", {}):
            sys.exit(f"readme_rungs.py: {row['row']} is held against {row['after']['rung']} on {row['after']['at']}: a rung must gain on one of the three problems")
        lines.append(f"| {row['row']} | {row['idea']} | " + " | ".join(cell(row, p) for p in PRESETS) + f" | {words} |")
    return "\n".join(lines) + "\n\n" + "\n".join(branches)


def preset_of(report, name):
    problem = report["problem"]
    sizes = tuple(problem.get(n) for n in NAMES) if problem["dtype"] == "f32" and not problem["bias"] else ()
    for preset, wanted in PRESETS.items():
        if sizes == wanted:
            return preset
    sys.exit(f"readme_rungs.py: {name}: problem must be one of {', '.join(PRESETS)} at full shape, f32, no bias")


def take(results, name):
    with open(name) as f:
        report = json.load(f)
    if report.get("device", {}).get("kind") != "cuda":
        sys.exit(f"readme_rungs.py: {name}: device must be a GPU")
    preset = preset_of(report, name)
    rows = {row["row"]: row for row in results["rows"]}
    today = datetime.date.today().isoformat()
    for entry in report.get("entries", []):
        if entry["name"] in rows and entry.get("hot"):
            rows[entry["name"]]["ms"][preset]["ms"] = entry["hot"]["median_ms"]
            rows[entry["name"]]["from"] = os.path.basename(name)
            rows[entry["name"]]["measured"] = today + ", hot, `convscope bench`, packing included"
    judged = report.get("kernel", {}).get("name") if "verdict" in report else None
    if judged in rows:
        rows[judged]["ms"][preset]["verdict"] = "right" if report["verdict"]["status"] == "right" else "wrong"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", default=os.path.join(HERE, "results", "rungs.json"))
    parser.add_argument("--readme", default=os.path.join(HERE, "..", "..", "README.md"))
    parser.add_argument("--take", nargs="+", default=[])
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--write", action="store_true")
    way.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with open(options.results) as f:
        results = json.load(f)
    for name in options.take:
        take(results, name)
    if options.take:
        with open(options.results, "w") as f:
            json.dump(results, f, ensure_ascii=False, indent=1)
            f.write("\n")
    made = table(results)
    if not options.write and not options.check:
        print(made)
        return
    with open(options.readme) as f:
        text = f.read()
    before, _, rest = text.partition(BEGIN)
    there, _, after = rest.partition(END)
    if options.check and there != made:
        wrong = [b for a, b in zip(there.splitlines(), made.splitlines()) if a != b] or ["(its number of rows)"]
        sys.exit("readme_rungs.py: the README's table is not that of the results; run it with --write. First: " + wrong[0])
    if options.write:
        with open(options.readme, "w") as f:
            f.write(before + BEGIN + made + END + after)


if __name__ == "__main__":
    main()
