#!/usr/bin/env python3
"""One kernel as several builds of the program export it, on the same tensors, in turn: what a change is worth.

    compare_builds.py FOLDER KERNEL KIND PRESET,… BUILD BUILD …      FOLDER/BUILD/convscope are the programs

KIND: f16 or bf16, or an accuracy (tf32, 3xtf32, strict). Each build's export is captured in a CUDA graph; all of them
read the same x and write the same y (one memory pool), and are replayed in turn, forwards and backwards. Three times with
tensors made anew, 8 samples each. cold: 256 MiB are written before. The GPU is kept busy until all of a sample is there,
so that no launch is waited for. Printed: medians of all samples, and of the cold ones by turn of tensors.
"""
import concurrent.futures
import gc
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile

import torch


def exported(program, kernel, kind, preset, path):
    option = "--dtype" if kind in ("f16", "bf16") else "--accuracy"
    subprocess.run([program, "export", kernel, "--preset", preset, option, kind, "--out", path], check=True,
                   capture_output=True)
    spec = importlib.util.spec_from_file_location("exported_" + os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def captured(modules, x):
    """A graph for each, and whether they all write the same memory. The modules own what the graphs use."""
    graphs, addresses, owners, pool = {}, set(), [], None
    for build, module in modules.items():
        ours = module.ModelNew().cuda().eval()
        owners.append(ours)
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(2):
                ours(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            out = ours(x)
        addresses.add(out.data_ptr())
        del out
        pool = graph.pool()
        graphs[build] = graph
    return graphs, len(addresses) == 1, owners


def in_turn(graphs, flush, samples=8):
    times = {build: [] for build in graphs}
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for i in range(samples + 1):
        for build in list(graphs) if i % 2 else list(graphs)[::-1]:
            torch.cuda._sleep(300_000)
            if flush is not None:
                flush.add_(1)
            begin.record()
            graphs[build].replay()
            end.record()
            end.synchronize()
            if i:
                times[build].append(begin.elapsed_time(end))
    return times


def compare(preset, kind, modules):
    cold, hot, turns = ({b: [] for b in modules} for _ in range(3))
    same = True
    for _ in range(3):
        flush = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
        one = next(iter(modules.values()))
        x = torch.rand(*one.INPUT_SHAPE, device="cuda").to(one.DTYPE)
        with torch.no_grad():
            graphs, alike, owners = captured(modules, x)
            same &= alike
            for into, written in ((cold, flush), (hot, None)):
                for build, times in in_turn(graphs, written).items():
                    into[build] += times
                    if written is not None:
                        turns[build].append(statistics.median(times))
        del graphs, owners, flush, x
        gc.collect()
        torch.cuda.empty_cache()
    for build in modules:
        print(f"{preset} {kind} {build:8} cold {statistics.median(cold[build]):.4f} hot {statistics.median(hot[build]):.4f} ms"
              f"   by turn {' '.join(f'{t:.4f}' for t in turns[build])}" + ("" if same else "   OTHER ADDRESSES"), flush=True)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    folder, kernel, kind, presets, *builds = sys.argv[1:]
    if not torch.cuda.is_available():
        sys.exit("compare_builds: PyTorch sees no GPU")
    scratch = tempfile.mkdtemp()
    presets = presets.split(",")
    modules = {(p, b): exported(f"{folder}/{b}/convscope", kernel, kind, p,
                                f"{scratch}/{p.replace('-', '_').replace('.', '_')}_{b}.py")
               for p in presets for b in builds}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda m: m._load(), modules.values()))
    for preset in presets:
        compare(preset, kind, {b: modules[preset, b] for b in builds})


if __name__ == "__main__":
    main()
