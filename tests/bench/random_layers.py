#!/usr/bin/env python3
"""Random layers: is `auto` right on all of them, and slower than cuDNN's best on none?

    random_layers.py CONVSCOPE [--count 200] [--seed 1] [--accuracy tf32] [--samples 15] [--limit SECONDS] [--json FILE]
    random_layers.py --list [--count 200] [--seed 1]      the layers, without a GPU

Channels 1 to 2048, K 1 to 25, s 1 to 16, any p, op, d, groups with depthwise, N 1 to 64, all tensors together within
4 GB; sizes are drawn evenly in their logarithm. Both sides are captured in CUDA graphs and replayed in turn, hot, as in
compare_pytorch.py; PyTorch has cudnn.benchmark on, so that cuDNN's fastest algorithm runs. Verdicts from the samples of
both by Mann and Whitney's test: SLOWER or FASTER where p < 0.01 and the medians are more than 1 % apart, else AMBIGUOUS.
Right: the largest error is at most four times PyTorch's, or below the accuracy's own bound (tf32: 2e-3, else 1e-5 of
the largest |output|). `--limit` ends the run early and says how many layers were not reached.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time


def whole(rng, low, high):
    """Evenly drawn in its logarithm."""
    return min(high, int(math.exp(rng.uniform(math.log(low), math.log(high + 1)))))


def draw(rng):
    """One layer as a dictionary of `convscope` options; all rules of the operator hold."""
    while True:
        groups, cin, cout = 1, whole(rng, 1, 2048), whole(rng, 1, 2048)
        kind = rng.random()
        if kind < 0.15:  # depthwise
            cout = groups = cin
        elif kind < 0.35:
            groups = whole(rng, 2, 16)
            cin, cout = max(1, cin // groups) * groups, max(1, cout // groups) * groups
        k, s, d = rng.randint(1, 25), rng.choice([1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 10, 16]), rng.choice([1, 1, 1, 2, 3, 5])
        p = rng.randint(0, d * (k - 1))
        op = rng.randint(0, max(s, d) - 1) if rng.random() < 0.3 else 0
        n, length = whole(rng, 1, 64), whole(rng, 1, 1 << 18)
        out = (length - 1) * s - 2 * p + d * (k - 1) + op + 1
        elements = n * cin * length + n * cout * max(out, 0) + cin * cout // groups * k
        multiply_adds = n * cin * (cout // groups) * k * length
        if out >= 1 and 4 * elements <= 4e9 and multiply_adds <= 4e12 and cin * cout // groups * k <= 1 << 26:
            return {"batch": n, "in-channels": cin, "out-channels": cout, "kernel-size": k, "length": length,
                    "stride": s, "padding": p, "output-padding": op, "dilation": d, "groups": groups}


def words(layer):
    return (f"{layer['batch']} x {layer['in-channels']}->{layer['out-channels']}, K {layer['kernel-size']}, "
            f"L {layer['length']}, s {layer['stride']}, p {layer['padding']}, op {layer['output-padding']}, "
            f"d {layer['dilation']}, g {layer['groups']}")


def mann_whitney_p(a, b):
    """Two-sided, by the normal approximation with ties counted half."""
    u = sum((x > y) + 0.5 * (x == y) for x in a for y in b)
    n, m = len(a), len(b)
    z = (u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(z) / math.sqrt(2))


def verdict(ours, theirs):
    ratio = statistics.median(ours) / statistics.median(theirs)
    if mann_whitney_p(ours, theirs) >= 0.01 or abs(ratio - 1) <= 0.01:
        return "AMBIGUOUS"
    return "SLOWER" if ratio > 1 else "FASTER"


def compare(module, accuracy, samples):
    import torch
    from compare_pytorch import captured, error, samples_of
    torch.backends.cudnn.allow_tf32 = accuracy == "tf32"
    torch.manual_seed(42)
    theirs = torch.nn.ConvTranspose1d(**module.PROBLEM, dtype=module.DTYPE).cuda().eval()
    torch.manual_seed(42)
    ours = module.ModelNew().cuda().eval()
    x = torch.rand(module.INPUT_SHAPE, device="cuda", dtype=module.DTYPE)
    with torch.inference_mode():
        graphs, outputs = zip(*(captured(lambda m=m: m(x)) for m in (ours, theirs)))
        times = samples_of(graphs, samples, None)
        few = max(1, int(2**30 // (8 * max(math.prod(module.OUTPUT_SHAPE[1:]), math.prod(module.INPUT_SHAPE[1:])))))
        truth = torch.nn.functional.conv_transpose1d(x[:few].double(), theirs.weight.double(), None, theirs.stride,
                                                     theirs.padding, theirs.output_padding, theirs.groups,
                                                     theirs.dilation)
        errors = [error(y, truth) for y in outputs]
    return times, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("convscope", nargs="?")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accuracy", default="tf32")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--limit", type=float, default=0)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    layers = [draw(rng) for _ in range(options.count)]
    if options.list:
        for layer in layers:
            print(words(layer))
        return
    if not options.convscope:
        parser.error("CONVSCOPE is missing")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import torch
    from compare_pytorch import export
    if not torch.cuda.is_available():
        sys.exit("random_layers: PyTorch sees no GPU")
    torch.backends.cudnn.benchmark = True
    start, folder = time.monotonic(), tempfile.mkdtemp()

    def prepared(i):
        problem = [w for name, value in layers[i].items() for w in ("--" + name, str(value))]
        info, module = export(options.convscope, "auto", f"random-{i}", options.accuracy, False, folder, problem)
        module._load()
        return info, module

    rows = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        ready = [pool.submit(prepared, i) for i in range(len(layers))]
        for i, layer in enumerate(layers):
            if options.limit and time.monotonic() - start > options.limit:
                pool.shutdown(wait=False, cancel_futures=True)
                break
            row = {"layer": layer, "kernel": None}
            try:
                info, module = ready[i].result()
                row["kernel"] = info["kernel"]
                times, errors = compare(module, options.accuracy, options.samples)
                right = errors[0] <= max(4 * errors[1], 2e-3 if options.accuracy == "tf32" else 1e-5)
                row.update(times_ms=times, errors=errors, right=right, verdict=verdict(*times))
            except Exception as e:  # one layer's trouble is not the others'
                row["trouble"] = f"{type(e).__name__}: {e}".split("\n")[0][:200]
            torch.cuda.empty_cache()
            rows.append(row)
            if "trouble" in row:
                print(f"{i:3} {words(layer)}: {row['trouble']}", flush=True)
            elif not row["right"] or row["verdict"] == "SLOWER":
                a, b = map(statistics.median, times)
                print(f"{i:3} {words(layer)}: {row['kernel']} {row['verdict']} {a:.4g} against {b:.4g} ms, errors "
                      f"{errors[0]:.2g} against {errors[1]:.2g}{'' if right else ' WRONG'}", flush=True)
    timed = [r for r in rows if "verdict" in r]
    count = {v: sum(r["verdict"] == v for r in timed) for v in ("FASTER", "AMBIGUOUS", "SLOWER")}
    mean = statistics.geometric_mean(statistics.median(r["times_ms"][1]) / statistics.median(r["times_ms"][0]) for r in timed) if timed else 0
    print(f"{len(rows)} of {len(layers)} layers, seed {options.seed}, {options.accuracy}, {torch.cuda.get_device_name()}: "
          f"{sum(r['right'] for r in timed)} right, {count['FASTER']} FASTER, {count['AMBIGUOUS']} AMBIGUOUS, "
          f"{count['SLOWER']} SLOWER, {len(rows) - len(timed)} not run; geometric mean {mean:.2f} times")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f)
    sys.exit(0 if len(timed) == len(layers) and all(r["right"] for r in timed) and not count["SLOWER"] else 1)


if __name__ == "__main__":
    main()
