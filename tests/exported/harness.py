"""What the tests of exported modules share: a module as `convscope export` writes it, on a GPU that gpu.py plays."""
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import torch
import torch.nn as nn

import gpu

CONVSCOPE, COMPILER = None, None  # of the command line
SHAPE = dict(N=2, CIN=4, COUT=6, K=3, L=8, S=2, P=1, D=1, GROUPS=2, LOUT=15)
OPTIONS = ("--batch 2 --in-channels 4 --out-channels 6 --kernel-size 3 --length 8 --stride 2 --padding 1 --groups 2 "
           "--bias").split()
INPUT, WEIGHT = (2, 4, 8), (4, 3, 3)
_number = 0


def expected(x, weight, bias):
    """The definition, on flat lists."""
    n_, cin, cout, k_, length, s, p, d, groups, lout = (SHAPE[n] for n in "N CIN COUT K L S P D GROUPS LOUT".split())
    per = cout // groups
    y = [[[bias[co] for _ in range(lout)] for co in range(cout)] for _ in range(n_)]
    for n in range(n_):
        for ci in range(cin):
            for q in range(per):
                for i in range(length):
                    for k in range(k_):
                        j = i * s - p + k * d
                        if 0 <= j < lout:
                            co = ci // (cin // groups) * per + q
                            y[n][co][j] += x[(n * cin + ci) * length + i] * weight[(ci * per + q) * k_ + k]
    return [v for sequence in y for row in sequence for v in row]


def flat(t):
    return t.detach().flatten().tolist() if gpu.REAL else t.tolist()


class ModuleTest(unittest.TestCase):
    kernel = "registers"

    def setUp(self):
        # A folder and a module of its own for each test: nothing is compiled, loaded or counted before.
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.gpu = gpu.GPU(self.folder.name, COMPILER, SHAPE, packs=self.kernel != "direct")
        self.module = self.exported(self.kernel)
        self.gpu.libraries = lambda: list(self.module._LIBRARIES.values())

    def exported(self, kernel, *more):
        global _number
        _number += 1
        path = os.path.join(self.folder.name, f"model_{_number}.py")
        subprocess.run([CONVSCOPE, "export", kernel, *OPTIONS, *more, "--out", path], check=True, capture_output=True)
        if gpu.REAL:
            text = Path(path).read_text()
            Path(path).write_text(text.replace('device.type != "cuda"', 'device.type != "cpu"'))
        spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # pickle finds the class there
        spec.loader.exec_module(module)
        return module

    def model(self):
        return self.module.ModelNew().to(gpu.DEVICE).eval()

    def x(self):
        return torch.rand(INPUT, device=gpu.DEVICE)

    def layer(self, **changed):
        options = dict(in_channels=4, out_channels=6, kernel_size=3, stride=2, padding=1, groups=2, device=gpu.DEVICE)
        return nn.ConvTranspose1d(**dict(options, **changed))

    def run_without_gradient(self, model, x):
        with torch.no_grad():
            return model(x)

    def assert_right(self, y, model, x, weight=None):
        """When all that is queued has run; `weight`: as it was when the call was made."""
        self.gpu.finish()
        layer = model.conv1d_transpose
        wanted = expected(flat(x), weight or flat(layer.weight), flat(layer.bias))
        got = flat(y)
        worst = max((abs(a - b) if a == a else math.inf) for a, b in zip(got, wanted))
        self.assertLess(worst, 1e-5, "y is not the layer's output")

    def packs(self):
        return [c.pack for c in self.gpu.calls()]

    def in_threads(self, *calls):
        threads = [threading.Thread(target=c) for c in calls]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def main():
    global CONVSCOPE, COMPILER
    CONVSCOPE, COMPILER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
