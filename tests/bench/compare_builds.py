#!/usr/bin/env python3
"""One kernel as several builds of the program export it, on the same tensors, in turn: what a change is worth.

    compare_builds.py FOLDER KERNEL KIND PRESET,… BUILD BUILD …      FOLDER/BUILD/convscope are the programs

KIND: f16 or bf16, or an accuracy (tf32, 3xtf32, strict). Each build's export is captured in a CUDA graph; all of them
read the same x and write the same y (one memory pool), and are replayed and timed in turn as compare_pytorch.py does it,
cold (one call) and hot (of twenty in a row), eight samples each, three times with tensors made anew. Printed: medians of
all samples, and of the cold and hot ones by turn of tensors.
"""
import concurrent.futures
import gc
import os
import statistics
import sys
import tempfile

import torch

from compare_pytorch import HOT_CALLS, captured, export, in_a_row, samples_of


def times_of(modules):
    """Cold and hot samples of each, on one set of tensors; and whether all wrote the same memory."""
    first = modules[0]
    flush = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
    x = torch.rand(*first.INPUT_SHAPE, device="cuda").to(first.DTYPE)
    layers = [m.ModelNew().cuda().eval() for m in modules]
    graphs, rows, addresses = [], [], set()
    with torch.no_grad():
        for layer in layers:
            # Older builds' graphs have packed weights without asking, or take of it once for each call.
            getattr(layer, "prepack", lambda calls: None)(calls=1 + HOT_CALLS)
            graph, y = captured(lambda: layer(x), graphs[0].pool() if graphs else None)
            graphs.append(graph)
            addresses.add(y.data_ptr())
            del y  # the next one gets its place
            rows.append(captured(in_a_row(lambda: layer(x)), graphs[0].pool())[0])
        return samples_of(graphs, 8, flush), samples_of(rows, 8, None, HOT_CALLS), len(addresses) == 1


def compare(preset, kind, builds, modules):
    cold, hot, turns, hot_turns = ([[] for _ in builds] for _ in range(4))
    same = True
    for _ in range(3):
        *times, alike = times_of(modules)
        same &= alike
        for k in range(len(builds)):
            cold[k] += times[0][k]
            hot[k] += times[1][k]
            turns[k].append(statistics.median(times[0][k]))
            hot_turns[k].append(statistics.median(times[1][k]))
        gc.collect()
        torch.cuda.empty_cache()
    for k, build in enumerate(builds):
        print(f"{preset} {kind} {build:8} cold {statistics.median(cold[k]):.4f} hot {statistics.median(hot[k]):.4f} ms"
              f"   by turn {' '.join(f'{t:.4f}' for t in turns[k])}; {' '.join(f'{t:.4f}' for t in hot_turns[k])}" + ("" if same else "   OTHER ADDRESSES"), flush=True)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    folder, kernel, kind, presets, *builds = sys.argv[1:]
    if not torch.cuda.is_available():
        sys.exit("compare_builds: PyTorch sees no GPU")
    modules = {(p, b): export(f"{folder}/{b}/convscope", kernel, p, kind, False, tempfile.mkdtemp())[1]
               for p in presets.split(",") for b in builds}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda m: m._load(), modules.values()))
    for preset in presets.split(","):
        compare(preset, kind, builds, [modules[preset, b] for b in builds])


if __name__ == "__main__":
    main()
