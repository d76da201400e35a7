// The Python file that export writes, with marks for what depends on kernel and problem.
#pragma once

namespace convscope {

inline constexpr const char* python_template = R"python(# SPDX-License-Identifier: MIT
"""ConvTranspose1d by a CUDA kernel of its own: @DESCRIPTION@@THEN@.

Kernel @KERNEL@, @ACCURACY@ accuracy, for one NVIDIA GPU@ARCHWORDS@. ModelNew takes the place of
torch.nn.ConvTranspose1d, or of the Model of a KernelBench problem, for exactly this problem, and says so when it is
asked for another. The kernel is compiled when it is first used (nvcc is needed then) and kept.
@FUSED@
For inference: a gradient is refused.
"""
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile

import torch
import torch.nn as nn

PROBLEM = dict(in_channels=@IN@, out_channels=@OUT@, kernel_size=@K@, stride=@S@, padding=@P@, output_padding=@OP@,
               groups=@G@, bias=@BIAS@, dilation=@D@)
INPUT_SHAPE = (@N@, @IN@, @L@)
OUTPUT_SHAPE = (@N@, @OUT@, @LOUT@)
DTYPE = torch.@DTYPE@
NEEDS = "@ARCH@"  # "": any GPU

CUDA_SOURCE = r'''
@CUDA@
'''


def _compiler():
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = shutil.which("nvcc") or shutil.which(os.path.join(home, "bin", "nvcc"))
    if not nvcc:
        raise RuntimeError("nvcc is needed to compile the kernel: install the CUDA Toolkit or set CUDA_HOME")
    return nvcc


def _architecture():
    major, minor = torch.cuda.get_device_capability()
    own = f"sm_{major}{minor}"
    if NEEDS == "sm_90a":
        if (major, minor) != (9, 0):
            raise RuntimeError(f"this kernel needs a GPU of compute capability 9.0, this one has {major}.{minor}")
        return NEEDS
    if NEEDS and major * 10 + minor < int(NEEDS[3:].rstrip("a")):
        raise RuntimeError(f"this kernel needs compute capability {NEEDS[3:]} or higher, this GPU has {major}.{minor}")
    return own


def _load():
    arch = _architecture()
    key = hashlib.sha256((arch + CUDA_SOURCE).encode()).hexdigest()[:24]
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "convscope", "exported")
    library = os.path.join(folder, key + ".so")
    if not os.path.exists(library):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            source, made = os.path.join(scratch, "kernel.cu"), os.path.join(scratch, "kernel.so")
            with open(source, "w", encoding="utf-8") as f:
                f.write(CUDA_SOURCE)
            command = [_compiler(), "-O3", "-std=c++20", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC", "-o", made,
                       source]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError("the kernel does not compile: " + " ".join(command) + "\n" + done.stderr)
            os.replace(made, library)
    found = ctypes.CDLL(library)
    found.conv_transpose1d_workspace.restype = ctypes.c_size_t
    found.conv_transpose1d.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int, ctypes.c_void_p]
    return found


class _Inference(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, run):
        return run(x, weight, bias)

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError("ModelNew (@KERNEL@) is for inference: it has no gradient")


class ModelNew(nn.Module):
    """Parameters in the order of KernelBench's models with dilation; weights are drawn as ConvTranspose1d draws them.@APPLIES@"""

    def __init__(self, in_channels=@IN@, out_channels=@OUT@, kernel_size=@K@, stride=@S@, padding=@P@, dilation=@D@,
                 bias=@BIAS@, output_padding=@OP@, groups=@G@):
        super().__init__()
        asked = dict(in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size, stride=stride,
                     padding=padding, output_padding=output_padding, groups=groups, bias=bool(bias), dilation=dilation)
        for name, value in asked.items():
            if value != PROBLEM[name]:
                raise ValueError(f"{name} {value}: this file was exported for {name} {PROBLEM[name]}")
        self.conv1d_transpose = nn.ConvTranspose1d(**PROBLEM, dtype=DTYPE)
        self._library = None
        self._workspace = None
        self._packed = None  # what the workspace was made from

    def forward(self, x):
        layer = self.conv1d_transpose
        if tuple(x.shape) != INPUT_SHAPE:
            raise ValueError(f"an input of shape {tuple(x.shape)}: this file was exported for {INPUT_SHAPE}")
        for name, t in (("the input", x), ("the weight", layer.weight)):
            if t.dtype != DTYPE or t.device.type != "cuda":
                raise ValueError(f"{name} is {t.dtype} on {t.device}: {DTYPE} on a CUDA device is needed")
        if x.device != layer.weight.device:
            raise ValueError(f"the input is on {x.device}, the weight on {layer.weight.device}")
        if torch.is_grad_enabled() and (x.requires_grad or layer.weight.requires_grad):
            return _Inference.apply(x, layer.weight, layer.bias, self._run)
        return self._run(x, layer.weight, layer.bias)

    def _run(self, x, weight, bias):
        with torch.cuda.device(x.device):
            if self._library is None:
                self._library = _load()
            x, weight = x.detach().contiguous(), weight.detach().contiguous()
            if x.data_ptr() % 16:
                x = x.clone()
            y = torch.empty(OUTPUT_SHAPE, dtype=DTYPE, device=x.device)
            if self._workspace is None or self._workspace.device != x.device:
                size = max(self._library.conv_transpose1d_workspace(), 256)
                self._workspace = torch.empty(size, dtype=torch.uint8, device=x.device)
                self._packed = None
            now = (weight.data_ptr(), weight._version)
            error = self._library.conv_transpose1d(
                x.data_ptr(), weight.data_ptr(), bias.data_ptr() if bias is not None else None, y.data_ptr(),
                self._workspace.data_ptr(), int(now != self._packed), torch.cuda.current_stream().cuda_stream)
            if error:
                raise RuntimeError(f"the kernel could not be started: CUDA error {error}")
            self._packed = now
            return y
)python";

// Where an activation is fused: in the docstring of the file.
inline constexpr const char* activation_note = R"python(
The activation is part of the kernel: forward(x) gives what these two lines give, but y is not stored in between, and
in 16 bits not rounded in between:

    y = self.conv1d_transpose(x)
    y = {}
)python";

}  // namespace convscope
