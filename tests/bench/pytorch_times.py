#!/usr/bin/env python3
"""Times of PyTorch's ConvTranspose1d on the three benchmark problems, on this GPU: pytorch_times.py [SAMPLES]

Medians of single calls by CUDA events, no bias, x [N, Cin, L] uniform in [0, 1), default weights. cold: 256 MiB are
written before each sample, so that the L2 cache holds nothing of x. One line a problem and precision, and JSON at the
end.
"""
import json
import statistics
import sys

import torch

problems = {  # name: (N, Cin, Cout, K, L, stride, padding, dilation)
    "kernelbench-79": (16, 32, 64, 3, 131072, 2, 1, 2),
    "kernelbench-74": (32, 32, 64, 5, 131072, 1, 0, 3),
    "kernelbench-64": (64, 128, 128, 3, 65536, 1, 0, 1),
}
precisions = {"tf32": (torch.float32, True), "fp32": (torch.float32, False), "fp16": (torch.float16, True),
              "bf16": (torch.bfloat16, True)}


def median_ms(work, samples, flush):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for i in range(samples + 3):
        if flush is not None:
            flush.fill_(float(i))
        start.record()
        work()
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(start.elapsed_time(end))
    return statistics.median(times)


def main():
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    flush = torch.empty(64 << 20, dtype=torch.float32, device="cuda")
    out = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
           "samples": samples, "median_ms": {}}
    torch.backends.cudnn.benchmark = False  # PyTorch's default
    with torch.inference_mode():
        for name, (n, cin, cout, k, length, s, p, d) in problems.items():
            for precision, (dtype, tf32) in precisions.items():
                torch.backends.cudnn.allow_tf32 = tf32
                torch.manual_seed(42)
                layer = torch.nn.ConvTranspose1d(cin, cout, k, stride=s, padding=p, dilation=d, bias=False)
                layer = layer.to("cuda", dtype)
                x = torch.rand(n, cin, length, device="cuda", dtype=dtype)
                hot = median_ms(lambda: layer(x), samples, None)
                cold = median_ms(lambda: layer(x), samples, flush)
                out["median_ms"].setdefault(name, {})[precision] = {"hot": hot, "cold": cold}
                print(f"{name:15} {precision}  hot {hot:7.3f} ms  cold {cold:7.3f} ms", flush=True)
                del x, layer
                torch.cuda.empty_cache()
    print(json.dumps(out))


if __name__ == "__main__":
    main()
