#!/usr/bin/env python3
"""Calls in a row on a GPU, each of which reads what the one before wrote: bit for bit as with a wait after each.

    chained_calls.py CONVSCOPE [--control] [--layers NAME;NAME;…]

The products of Hopper's rungs begin while the launch before still runs (programmatic dependent launch) and wait before
they touch its results. Each rung is exported for layers whose output has as many elements as their input, and twenty
calls are captured in a CUDA graph, y = f(y); the same is done call by call, with a wait after each. What reads too early gives
other numbers. --control takes the waits out of the exported text: then the check must fail, and the exit code is 0 if
at least one rung is told. Without it, 1 where one differs.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile

import torch

from compare_pytorch import HOT_CALLS, captured, export

# Input channels, output channels times the stride, K, stride, length. Rows that are copied first (an odd length), long
# sums, several classes.
LAYERS = {"aligned": (128, 3, 1, 40000), "odd rows": (128, 3, 1, 4099), "long sums": (512, 3, 1, 1000),
          "stride 4": (512, 8, 4, 1000), "stride 4, odd rows": (256, 8, 4, 4099)}
RUNGS = {"hopper_tf32": "tf32", "hopper_1xf16": "tf32", "stream_tf32": "tf32", "stream_1xf16": "tf32",
         "ordered_1xf16": "tf32", "hopper_3xtf32": "3xtf32", "stream_3xf16": "3xtf32", "ordered_3xf16": "3xtf32",
         "hopper_16bit": "f16", "held_16bit": "f16", "ordered_16bit": "f16"}
WAIT = 'asm volatile("griddepcontrol.wait;" ::: "memory");'


def module_of(convscope, rung, kind, layer, folder, without_waits):
    channels, kernel_size, stride, length = LAYERS[layer]
    problem = ["--batch", "2", "--in-channels", str(channels), "--out-channels", str(channels // stride),
               "--kernel-size", str(kernel_size), "--stride", str(stride), "--padding", str((kernel_size - stride) // 2),
               "--length", str(length)]
    try:
        name = f"{rung}-{layer.replace(',', '').replace(' ', '-')}"
        _, module = export(convscope, rung, name, kind, False, folder, problem)
    except RuntimeError:
        return None  # the rung does not take it
    if without_waits:
        assert WAIT in module.CUDA_SOURCE
        module.CUDA_SOURCE = module.CUDA_SOURCE.replace(WAIT, "")
    return module


def differs(module):
    torch.manual_seed(1)
    layer = module.ModelNew().cuda().eval()
    with torch.no_grad():
        layer.conv1d_transpose.weight.mul_(2)  # so that values neither vanish nor grow out of f16
        layer.prepack()
        x = torch.randn(*module.INPUT_SHAPE, device="cuda").to(module.DTYPE)

        def chain(wait=lambda: None):
            y = x
            for _ in range(HOT_CALLS):
                y = layer(y.view(*module.INPUT_SHAPE))
                wait()
            return y

        graph, y = captured(chain)
        expected = chain(torch.cuda.synchronize)
        worst = 0
        for _ in range(5):
            y.fill_(0)
            graph.replay()
            torch.cuda.synchronize()
            worst = max(worst, int((y != expected).sum()))
        assert expected.isfinite().all() and expected.abs().max() > 0
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("convscope")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--layers", default=";".join(LAYERS), help="some of " + "; ".join(LAYERS))
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("chained_calls: PyTorch sees no GPU")
    cases, folder = {}, tempfile.mkdtemp()
    for rung, kind in RUNGS.items():
        for layer in options.layers.split(";"):
            if module := module_of(options.convscope, rung, kind, layer, folder, options.control):
                cases[rung, layer] = module
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        list(pool.map(lambda m: m._load(), cases.values()))
    told = {}
    for (rung, layer), module in cases.items():
        wrong = told[rung, layer] = differs(module)
        print(f"{rung:14} {layer:20} " + (f"{wrong} elements differ" if wrong else "the same"), flush=True)
    missing = set(RUNGS) - {rung for rung, _ in cases}
    if missing:
        sys.exit(f"no layer for {', '.join(missing)}")
    wrong = sum(map(bool, told.values()))
    print(f"{wrong} of {len(told)} differ" + (", without waits" if options.control else ""))
    sys.exit(wrong == 0 if options.control else wrong != 0)


if __name__ == "__main__":
    main()
