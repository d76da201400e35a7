#!/usr/bin/env python3
"""Our exported kernels and PyTorch in one process on one GPU: times, ratios, errors.

    compare_pytorch.py CONVSCOPE [--presets a,b,…] [--accuracies tf32,3xtf32,strict,f16,bf16] [--kernel NAME] [--bias]
                       [--variants [a,b,…]] [--activation relu|leaky_relu[:SLOPE]] [--samples N] [--json FILE]

For each problem `CONVSCOPE export auto --format pytorch` writes a ModelNew, which gets PyTorch's own weights. Both sides
are captured in CUDA graphs and replayed in turn; a sample is one replay, timed by events. cold: one call, 256 MiB written
before each sample. hot: twenty calls, one after the other as in a model, over twenty; single: one call, nothing written
before, so that what a graph takes to begin and end is in it. Medians. The GPU is kept busy until all of a sample is there,
so that no launch is waited for. Right is
checked in the same run, against PyTorch in double precision: the largest error of both sides over the largest |output|
(not over all elements where that would not fit: the first sequences then). Errors beyond what the accuracy allows
(compare_rules.py) and other weights are named at the end; then the exit code is 1.
TF32 on our side is held against PyTorch with TF32, f16 and bf16 against the same type, all else against PyTorch without.
--activation: fused on our side; on PyTorch's the function of torch.nn.functional after its layer, in the same graph.
--variants: PyTorch's other ways (cudnn.benchmark, torch.compile, channels_last; or those named) are replayed in turn with
both, and the fastest of its ways is held against ours.
"""
import argparse
import concurrent.futures
import gc
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import torch

from compare_rules import fastest, faults, times_faster

THREE = ["kernelbench-79", "kernelbench-74", "kernelbench-64"]
VARIANTS = ["cudnn.benchmark", "torch.compile", "channels_last"]
HOT_CALLS = 20


def activation_of(text):
    """What `convscope export --activation` fuses, as PyTorch computes it."""
    if text in (None, "none"):
        return lambda y: y
    if text == "relu":
        return torch.nn.functional.relu
    slope = float(text.partition(":")[2] or 0.01)
    return lambda y: torch.nn.functional.leaky_relu(y, slope)


def export(convscope, kernel, preset, accuracy, bias, folder, problem=None, activation=None):
    """problem: options of `convscope export`; without them the preset."""
    path = os.path.join(folder, f"{preset}-{accuracy}{'-bias' if bias else ''}.py")
    kind = "--dtype" if accuracy in ("f16", "bf16") else "--accuracy"
    command = [convscope, "export", kernel, *(problem or ["--preset", preset]), kind, accuracy, "--out", path, "--json"]
    command += (["--bias"] if bias else []) + (["--activation", activation] if activation else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr or done.stdout)
    spec = importlib.util.spec_from_file_location("exported_" + os.path.basename(path)[:-3].replace("-", "_").replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return json.loads(done.stdout), module


def captured(call, pool=None):
    """A CUDA graph of one call, and what it returns each time; in another graph's memory, if its pool is given."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        out = call()
    return graph, out


def in_a_row(call):
    """HOT_CALLS of it, as a call to capture."""
    def calls():
        for _ in range(HOT_CALLS):
            out = call()
        return out
    return calls


def samples_of(graphs, samples, flush, calls=1):
    """Milliseconds of a call: of each graph's replays, of so many calls each."""
    times = [[] for _ in graphs]
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for i in range(samples + 2):
        for k, graph in enumerate(graphs):
            torch.cuda._sleep(300_000)  # the GPU waits until all of a sample is there: else the launch is timed too
            if flush is not None:
                flush.add_(1)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if i >= 2:
                times[k].append(begin.elapsed_time(end) / calls)
    return times


def medians(graphs, samples, flush, calls=1):
    return [statistics.median(t) for t in samples_of(graphs, samples, flush, calls)]


def in_double(module, x):
    return torch.nn.functional.conv_transpose1d(
        x.double(), module.weight.double(), None if module.bias is None else module.bias.double(), module.stride,
        module.padding, module.output_padding, module.groups, module.dilation)


def error(y, truth):
    return ((y[:len(truth)].double() - truth).abs().max() / truth.abs().max()).item()


def benchmarked(call):
    """PyTorch's way with cuDNN's algorithms tried out, whose choice holds for such a call alone."""
    def with_search():
        torch.backends.cudnn.benchmark = True
        try:
            return call()
        finally:
            torch.backends.cudnn.benchmark = False
    return with_search


def variants(layer, x, then, names):
    """PyTorch's other ways: cuDNN's algorithms tried out, compiled, and as a 2-d layer in channels_last (1-d has none),
    whose input lies so already."""
    flat = torch.nn.ConvTranspose2d(layer.in_channels, layer.out_channels, (1, *layer.kernel_size), (1, *layer.stride),
                                    (0, *layer.padding), (0, *layer.output_padding), layer.groups,
                                    layer.bias is not None, (1, *layer.dilation), dtype=x.dtype).cuda().eval()
    with torch.no_grad():
        flat.weight.copy_(layer.weight.unsqueeze(2))
        if layer.bias is not None:
            flat.bias.copy_(layer.bias)
    flat = flat.to(memory_format=torch.channels_last)
    wide = x.unsqueeze(2).contiguous(memory_format=torch.channels_last)
    compiled = torch.compile(lambda t: then(layer(t)))
    ways = {"cudnn.benchmark": benchmarked(lambda: then(layer(x))), "torch.compile": lambda: compiled(x),
            "channels_last": lambda: then(flat(wide))}
    return {name: ways[name] for name in names}


def compare(preset, accuracy, bias, info, module, options):
    gc.collect()  # each case begins with the allocator empty, whatever came before it
    torch.cuda.empty_cache()
    flush = torch.zeros(64 << 20, dtype=torch.int32, device="cuda")
    torch.backends.cudnn.allow_tf32 = accuracy == "tf32"
    torch.manual_seed(42)
    theirs = torch.nn.ConvTranspose1d(**module.PROBLEM).to(module.DTYPE).cuda().eval()  # as a model is converted
    torch.manual_seed(42)
    ours = module.ModelNew().cuda().eval()
    same = all(torch.equal(a, b) for a, b in zip(theirs.parameters(), ours.parameters()))
    x = torch.rand(*module.INPUT_SHAPE, device="cuda").to(module.DTYPE)
    then = activation_of(options.activation)
    ours.prepack(calls=2)  # weights are constant in inference: the two graphs need not pack them at each replay
    with torch.no_grad():
        calls = [lambda: ours(x), lambda: then(theirs(x))]
        graphs, outputs = map(list, zip(*map(captured, calls)))
        rows = [captured(in_a_row(call))[0] for call in calls]
        others, places = {}, {}
        for name, call in (variants(theirs, x, then, options.variants) if options.variants else {}).items():
            try:
                graph, y = captured(call)
                rows.append(captured(in_a_row(call))[0])
                others[name] = dict(same=torch.allclose(y.reshape(outputs[1].shape), outputs[1], atol=1e-2, rtol=1e-2))
                places[name] = len(graphs)
                graphs.append(graph)
            except Exception as e:  # what PyTorch cannot do here is said
                others[name] = dict(trouble=f"{type(e).__name__}: {e}".split("\n")[0][:120])
        cold = medians(graphs, options.samples, flush)
        single = medians(graphs, options.samples, None)
        hot = medians(rows, options.samples, None, HOT_CALLS)
        for name, place in places.items():
            others[name].update(cold_ms=cold[place], hot_ms=hot[place])
        few = max(1, int(2**31 // (8 * math.prod(module.OUTPUT_SHAPE[1:]))))
        truth = then(in_double(theirs, x[:few]))
        errors = [error(y, truth) for y in outputs]
        close = torch.allclose(outputs[0], outputs[1], atol=1e-4, rtol=1e-4) if accuracy in ("3xtf32", "strict") else None
    return dict(preset=preset, accuracy=accuracy, bias=bias, kernel=info["kernel"], chosen=(info.get("chosen") or {}).get("reason"),
                activation=options.activation, variants=others,
                cold_ms=cold[:2], hot_ms=hot[:2], single_ms=single[:2], errors=errors, allclose_1e_4=close, same_weights=same)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("convscope")
    parser.add_argument("--presets", default=",".join(THREE), help="names, or `layers` for the real layers")
    parser.add_argument("--accuracies", default="tf32,3xtf32")
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--bias", action="store_true")
    parser.add_argument("--activation", help="relu, leaky_relu or leaky_relu:SLOPE, after the layer")
    parser.add_argument("--variants", nargs="?", const=",".join(VARIANTS), type=lambda text: text.split(","), default=[],
                        help="PyTorch's other ways as well: all of them, or some of " + ", ".join(VARIANTS))
    parser.add_argument("--samples", type=int, default=21)
    parser.add_argument("--json")
    options = parser.parse_args()
    if unknown := set(options.variants) - set(VARIANTS):
        sys.exit(f"--variants {','.join(unknown)}: not one of {', '.join(VARIANTS)}")
    if not torch.cuda.is_available():
        sys.exit("compare_pytorch: PyTorch sees no GPU")
    presets = []
    for name in options.presets.split(","):
        if name == "layers":
            known = json.loads(subprocess.check_output([options.convscope, "list", "presets", "--json"]))["presets"]
            presets += [p["name"] for p in known if not p["name"].startswith("kernelbench")]
        else:
            presets.append(name)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, "
          f"{options.samples} samples, CUDA graphs" + (f", then {options.activation}" if options.activation else ""))
    rows, folder = [], tempfile.mkdtemp()
    cases = [(p, a, options.bias) for a in options.accuracies.split(",") for p in presets]
    modules = {c: export(options.convscope, options.kernel, *c, folder, activation=options.activation) for c in cases}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda m: m[1]._load(), modules.values()))
    for case in cases:
        row = compare(*case, *modules[case], options)
        rows.append(row)
        c, h, one, e = row["cold_ms"], row["hot_ms"], row["single_ms"], row["errors"]
        print(f"{row['preset']:16} {row['accuracy']:7}{' bias' if row['bias'] else ''} {row['kernel']:14} cold {c[0]:.4g} against {c[1]:.4g} ms: "
              f"{c[1] / c[0]:.2f} times   hot {h[0]:.4g} against {h[1]:.4g}: {h[1] / h[0]:.2f} times   "
              f"single {one[0]:.4g} against {one[1]:.4g}   largest error {e[0]:.2g} against {e[1]:.2g}"
              + ("" if row["allclose_1e_4"] is None else f"   allclose 1e-4: {row['allclose_1e_4']}")
              + ("" if row["same_weights"] else "   NOT THE SAME WEIGHTS"), flush=True)
        for name, v in row["variants"].items():
            print(f"    PyTorch with {name}: " + (v.get("trouble") or f"cold {v['cold_ms']:.4g} ms, hot {v['hot_ms']:.4g} ms"
                                                  + ("" if v["same"] else ", OTHER RESULTS")), flush=True)
        if row["variants"]:
            print("    against PyTorch's fastest way: " + ", ".join(
                f"{name} {times_faster(row, key):.2f} times ({fastest(row, key)[0]})" for name, key in
                (("cold", "cold_ms"), ("hot", "hot_ms"))), flush=True)
    for accuracy in options.accuracies.split(","):
        mine = [r for r in rows if r["accuracy"] == accuracy]
        means = [statistics.geometric_mean(r[k][1] / r[k][0] for r in mine) for k in ("cold_ms", "hot_ms")]
        print(f"geometric mean of {len(mine)} problems, {accuracy}: cold {means[0]:.2f} times, hot {means[1]:.2f} times")
        if options.variants:
            means = [statistics.geometric_mean(times_faster(r, k) for r in mine) for k in ("cold_ms", "hot_ms")]
            print(f"    against PyTorch's fastest way: cold {means[0]:.2f} times, hot {means[1]:.2f} times")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f)
    wrong = [fault for row in rows for fault in faults(row)]
    if wrong:
        sys.exit("\n".join("WRONG: " + fault for fault in wrong))


if __name__ == "__main__":
    main()
