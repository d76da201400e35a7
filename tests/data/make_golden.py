#!/usr/bin/env python3
"""Makes the golden files of this folder: python3 tests/data/make_golden.py (PyTorch 2.11, NumPy; a CPU with FMA).

What the C++ code reimplements (PyTorch's generator and initialisation, its transposed convolution, NumPy's files) is
compared with what PyTorch and NumPy themselves wrote. The files are the same bytes each time they are made.

golden_inputs_*.npz   weights and bias of a ConvTranspose1d made under a seed, and torch.rand under the same seed
                      again: arrays w, b (absent without a bias), x, params
golden_random.npz     the generator's other distributions: one array for each distribution and seed
golden_conv_*.npz     float64 results of conv_transpose1d: arrays x, w (float32 or float64), b (may be absent), y (float64),
                      params = [stride, padding, output_padding, dilation, groups]
npy/                  one pattern in every shape of file that NumPy writes, and files that must be refused

params are whole numbers kept as float64: the reader under test refuses integer arrays.
"""
import io
import pathlib
import time
import unittest.mock

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent


def save(name, compressed=False, **arrays):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    (np.savez_compressed if compressed else np.savez)(path, **{k: v for k, v in arrays.items() if v is not None})


# ---- initialisation and inputs ---------------------------------------------------------------------------------------

# name: dtype, seed, N, Cin, Cout, K, L, stride, padding, output_padding, dilation, groups, bias
INPUTS = {
    "notes": ("float32", 42, 2, 4, 6, 3, 10, 1, 0, 0, 1, 1, True),
    "plain": ("float32", 0, 1, 5, 7, 4, 33, 2, 1, 0, 1, 1, False),
    "grouped": ("float32", 1, 3, 6, 4, 5, 9, 3, 2, 1, 2, 2, True),
    "depthwise": ("float32", 1234567890123, 2, 8, 8, 16, 5, 8, 4, 0, 1, 8, True),
    "one_tap": ("float32", 2**63, 1, 3, 2, 1, 17, 1, 0, 0, 1, 1, True),
    "odd_fan": ("float32", 2**32 + 7, 1, 2, 13, 29, 8, 4, 11, 1, 1, 1, True),
    "double": ("float64", 42, 2, 4, 6, 3, 10, 1, 0, 0, 1, 1, True),
    "double_grouped": ("float64", 99, 1, 9, 6, 7, 11, 2, 3, 1, 3, 3, True),
    "double_no_bias": ("float64", 7, 1, 3, 11, 13, 6, 5, 0, 4, 2, 1, False),
}


def make_inputs():
    for name, (dtype, seed, n, cin, cout, k, length, s, p, op, d, g, bias) in INPUTS.items():
        t = getattr(torch, dtype)
        torch.manual_seed(seed)
        m = torch.nn.ConvTranspose1d(cin, cout, k, stride=s, padding=p, output_padding=op, dilation=d, groups=g,
                                     bias=bias, dtype=t)
        torch.manual_seed(seed)
        x = torch.rand(n, cin, length, dtype=t)
        params = [n, cin, cout, k, length, s, p, op, d, g, int(bias), seed >> 32, seed & 0xFFFFFFFF]
        save(f"golden_inputs_{name}.npz", compressed=len(name) % 2 == 0, w=m.weight.detach().numpy(),
             b=m.bias.detach().numpy() if bias else None, x=x.numpy(), params=np.array(params, dtype=np.float64))


def make_random():
    arrays = {}
    for seed in (0, 42, 2**32 + 42, 2**63):
        def draw(what, make):
            torch.manual_seed(seed)
            arrays[f"{what}_{seed}"] = make().numpy()
        draw("rand_f32", lambda: torch.rand(200))
        draw("rand_f64", lambda: torch.rand(100, dtype=torch.float64))
        draw("signed_f32", lambda: torch.empty(200).uniform_(-1, 1))
        draw("signed_f64", lambda: torch.empty(100, dtype=torch.float64).uniform_(-1, 1))
        draw("randint", lambda: torch.randint(-3, 4, (200,)).to(torch.float32))
    # More draws than the generator's state has words, so that the state is refilled.
    torch.manual_seed(5)
    arrays["tail_5"] = torch.rand(2000)[1990:].numpy()
    save("golden_random.npz", **arrays)


# ---- the operator ----------------------------------------------------------------------------------------------------

# name: dtype, N, Cin, Cout, K, L, stride, padding, output_padding, dilation, groups, bias
CONVS = {
    "plain": ("float32", 2, 3, 4, 3, 11, 1, 0, 0, 1, 1, False),
    "kb79": ("float32", 2, 4, 6, 3, 20, 2, 1, 0, 2, 1, False),
    "kb74": ("float32", 2, 3, 4, 5, 20, 1, 0, 0, 3, 1, False),
    "upsample": ("float32", 1, 6, 4, 16, 9, 8, 4, 0, 1, 1, True),
    "output_padding": ("float32", 2, 3, 5, 4, 7, 3, 1, 2, 1, 1, True),
    "op_by_dilation": ("float32", 1, 2, 3, 3, 6, 2, 1, 4, 5, 1, True),
    "groups": ("float32", 2, 6, 9, 3, 8, 2, 1, 1, 1, 3, True),
    "depthwise": ("float32", 2, 5, 5, 7, 12, 3, 2, 0, 2, 5, False),
    "depth_multiplier": ("float64", 1, 4, 12, 5, 6, 2, 2, 0, 1, 4, True),
    "one_tap": ("float32", 2, 3, 4, 1, 9, 1, 0, 0, 1, 1, True),
    "one_tap_strided": ("float32", 1, 3, 2, 1, 9, 4, 0, 3, 1, 1, True),
    "one_position": ("float32", 3, 4, 2, 5, 1, 2, 1, 1, 3, 1, True),
    "smallest": ("float64", 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, False),
    "stride_over_kernel": ("float32", 1, 2, 3, 2, 10, 7, 0, 0, 1, 1, True),
    "gcd2": ("float64", 1, 3, 2, 4, 8, 6, 3, 0, 4, 1, True),
    "gcd_all": ("float32", 1, 2, 2, 6, 9, 3, 2, 0, 3, 1, False),
    "all_padding": ("float32", 1, 3, 3, 9, 6, 2, 9, 0, 1, 1, True),
    "wavegan": ("float32", 1, 4, 3, 25, 7, 4, 11, 1, 1, 1, False),
    "wide_dilation": ("float32", 1, 2, 2, 3, 4, 1, 0, 0, 17, 1, True),
    "double": ("float64", 2, 5, 6, 5, 15, 3, 2, 1, 2, 1, True),
    "long": ("float32", 1, 2, 2, 5, 700, 2, 3, 1, 3, 1, True),
}


def make_convs():
    for i, (name, (dtype, n, cin, cout, k, length, s, p, op, d, g, bias)) in enumerate(CONVS.items()):
        r = np.random.default_rng(i)
        x, w, b = (r.uniform(-1, 1, shape).astype(dtype) for shape in ((n, cin, length), (cin, cout // g, k), (cout,)))
        y = torch.nn.functional.conv_transpose1d(
            torch.from_numpy(x).double(), torch.from_numpy(w).double(), torch.from_numpy(b).double() if bias else None,
            stride=s, padding=p, output_padding=op, dilation=d, groups=g)
        save(f"golden_conv_{name}.npz", compressed=i % 2 == 1, x=x, w=w, b=b if bias else None, y=y.numpy(),
             params=np.array([s, p, op, d, g], dtype=np.float64))


# ---- NumPy's files ---------------------------------------------------------------------------------------------------


def make_npy():
    folder = HERE / "npy"
    folder.mkdir(exist_ok=True)

    def write(name, array, version=None):
        out = io.BytesIO()
        np.lib.format.write_array(out, array, version=version, allow_pickle=True)
        (folder / name).write_bytes(out.getvalue())

    pattern = (np.arange(24, dtype=np.float64) / 8 - 1).reshape(2, 3, 4)  # exact in float16
    for size in (2, 4, 8):
        for order in "<>":
            for layout in "CF":
                a = np.array(pattern, dtype=f"{order}f{size}", order=layout)
                write(f"{'le' if order == '<' else 'be'}_f{size}_{layout}.npy", a)
    for major in (1, 2, 3):
        write(f"version{major}.npy", pattern.astype("<f4"), (major, 0))
    write("scalar.npy", np.float32(2.5) * np.ones(()).astype("<f4"))
    write("one_dimension.npy", pattern.reshape(-1).astype("<f4"))
    write("eight_dimensions.npy", pattern.reshape(1, 2, 1, 3, 1, 2, 2, 1).astype("<f4"))
    write("empty.npy", np.zeros((3, 0, 2), dtype="<f4"))
    # Every kind of half: zeros, subnormals, each exponent with some fractions, infinities and NaN, beside what NumPy
    # makes of them.
    halves = np.array([sign << 15 | e << 10 | f for sign in (0, 1) for e in range(32) for f in (0, 1, 2, 512, 1022, 1023)],
                      dtype=np.uint16).view("<f2")
    np.savez(folder / "halves.npz", halves=halves, floats=halves.astype("<f4"))

    refused = {
        "integers": np.arange(4, dtype="<i4"), "bytes": np.arange(4, dtype="u1"), "booleans": np.ones(3, dtype=bool),
        "complex": np.ones(3, dtype="<c8"), "structured": np.zeros(2, dtype=[("a", "<f4"), ("b", "<i2")]),
        "text": np.array(["ab", "c"]), "longdouble": np.zeros(2, dtype="<f16"),
        "objects": np.array([None, 1], dtype=object), "dates": np.array(["2024-01-01"], dtype="M8[D]"),
    }
    for name, array in refused.items():
        write(f"refused_{name}.npy", array)
    write("nine_dimensions.npy", np.ones((1,) * 9, dtype="<f4"))

    save("npy/one.npz", x=pattern.astype("<f4"))
    save("npy/positional.npz", arr_0=pattern.astype("<f8"))
    save("npy/many.npz", x=pattern.astype("<f4"), w=np.asfortranarray(pattern).astype("<f8"), b=np.arange(3, dtype=">f4"))
    save("npy/many_compressed.npz", compressed=True, x=pattern.astype("<f4"),
         w=np.asfortranarray(pattern).astype("<f8"), b=np.arange(3, dtype=">f4"))
    # Compresses by far more than a hundred to one: no reason to call the size impossible.
    save("npy/zeros_compressed.npz", compressed=True, x=np.zeros((4, 50, 500), dtype="<f4"))


if __name__ == "__main__":
    # A zip archive holds the time of each entry; without a fixed one every run would change every file.
    with unittest.mock.patch("zipfile.time.localtime", lambda *_: time.struct_time((1980, 1, 1, 0, 0, 0, 1, 1, 0))):
        make_inputs()
        make_random()
        make_convs()
        make_npy()
