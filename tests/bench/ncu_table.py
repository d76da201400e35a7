#!/usr/bin/env python3
"""Our kernel times and counters over ncu's, as Markdown: ncu_table.py OURS.txt NCU.csv

OURS is what the test CountsEachKernel prints, NCU the raw page of ncu on RunsEachKernelFiveTimes. Of a kernel with
several launches ours counts all of them in one range: what adds up (requests, sectors, bytes) is held against the sum
of ncu's, shares are not. Says at the end what is not within 2 % (times), 1 % (counters) or 5 % (hit rates), and how far
ncu's five calls of that kernel are apart among themselves.
"""
import csv
import sys

NAMES = {"dram_read_bytes": "dram__bytes_read.sum", "dram_write_bytes": "dram__bytes_write.sum",
         "l2_sectors": "lts__t_sectors.sum", "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
         "issue_busy": "smsp__issue_active.avg.pct_of_peak_sustained_active",
         "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
         "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
         "l2_hit_rate": "lts__t_sector_hit_rate.pct", "l1_hit_rate": "l1tex__t_sector_hit_rate.pct",
         "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
         "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}


def number(text):
    return float(text.replace(",", "")) if text else None


def read_ours(path):
    """{entry or entry+entry: {records_ms or a counter: value}}; busy memory as a share of the kernel's own time."""
    ours = {}
    for line in open(path):
        if not line.startswith("ours"):
            continue
        f = dict(p.split("=", 1) for p in line.split()[1:] if "=" in p)
        e = ours.setdefault(f["entry"], {})
        if "records_ms" in f:
            e["records_ms"] = float(f["records_ms"])
        else:
            e[f["counter"]] = float(f["value"])
    return ours


def read_ncu(path):
    """Each kernel's calls in their order: a row of ncu's table each."""
    calls = {}
    for r in csv.DictReader(l for l in open(path) if l.startswith('"')):
        if not r.get("Kernel Name"):
            continue
        name = r["Kernel Name"].split("(")[0]
        calls.setdefault(name, []).append(r)
    return calls


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    ours = read_ours(sys.argv[1])
    calls = read_ncu(sys.argv[2])
    last = {name: rows[-1] for name, rows in calls.items()}
    times = {name: [number(r["gpu__time_duration.sum"]) / 1e6 for r in rows] for name, rows in calls.items()}
    beyond, timed, counted = [], 0, 0
    print("| kernel | ours ms | ncu ms | ratio | " + " | ".join(n.replace("_", " ") for n in NAMES) + " |")
    print("|---" * (4 + len(NAMES)) + "|")
    for entry, o in ours.items():
        parts = entry.split("+")
        if any(p not in last for p in parts):
            print(f"| {entry} | not in ncu's" + " |" * (3 + len(NAMES)))
            continue
        cells = [entry]
        if "records_ms" in o:
            ncu_ms = sum(median(times[p]) for p in parts)
            ratio = o["records_ms"] / ncu_ms
            cells += [f'{o["records_ms"]:.5f}', f"{ncu_ms:.5f}", f"{ratio:.4f}"]
            timed += abs(ratio - 1) <= 0.02
            if abs(ratio - 1) > 0.02:
                beyond.append(f"{entry}: time {100 * (ratio - 1):+.1f} %")
        else:
            cells += ["", "", ""]
        has_counters = False
        for name, theirs in NAMES.items():
            adds = theirs.endswith(".sum")
            values = [number(last[p].get(theirs, "")) for p in parts]
            if name not in o or None in values or (len(parts) > 1 and not adds):
                cells.append("–")
                continue
            has_counters = True
            n = sum(values)
            if n == 0:
                cells.append("=" if o[name] == 0 else f"{o[name]:g} / 0")
                continue
            ratio = o[name] / n
            cells.append("=" if ratio == 1 else f"{ratio:.4f}")
            if abs(ratio - 1) > (0.05 if "hit_rate" in name else 0.01):
                own = [sum(number(r[theirs]) for r in together) / n - 1 for together in zip(*(calls[p] for p in parts))]
                beyond.append(f"{entry}: {name} {100 * (ratio - 1):+.1f} % (ncu's own {len(own)} calls "
                              f"{100 * min(own):+.1f} to {100 * max(own):+.1f} %)")
        counted += has_counters
        print("| " + " | ".join(cells) + " |")
    print(f"\n{timed} kernels' times are within 2 % of ncu's; counters of {counted} were compared.")
    print("Beyond 2 % (times), 1 % (counters), 5 % (hit rates): " + ("; ".join(beyond) if beyond else "none") + ".")


main()
