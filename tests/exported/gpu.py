"""A GPU for exported modules: streams, captures and devices in torch.cuda's place, and an nvcc that compiles fake_kernel.c.

Everything that a module allocates stays where it is, as what is queued reads it: on a GPU the allocator sees to that.
"""
import ctypes
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import torch

REAL = not hasattr(torch, "_Block")  # PyTorch itself, whose tensors are then on the CPU
DEVICE = "cpu" if REAL else "cuda:0"


class Call(ctypes.Structure):
    _fields_ = [(n, ctypes.c_void_p) for n in ("x", "w", "b", "y", "workspace")] + [("pack", ctypes.c_ssize_t),
                                                                                  ("stream", ctypes.c_ssize_t)]


class Stream:
    def __init__(self, number):
        self.cuda_stream = number

    def synchronize(self):
        GPU.only.finish()


class _With:
    """Sets an attribute of the GPU for as long as the block lasts."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __enter__(self):
        self.before = getattr(GPU.only, self.name)
        setattr(GPU.only, self.name, self.value)

    def __exit__(self, *_):
        setattr(GPU.only, self.name, self.before)


class GPU:
    only = None

    def __init__(self, folder, compiler, problem, packs):
        GPU.only = self
        self.device, self.stream, self.capturing, self.joined, self.graphs, self.kept = 0, Stream(0), None, None, 0, []
        self.capabilities = {0: (9, 0), 1: (8, 0)}
        self.properties = SimpleNamespace(shared_memory_per_block_optin=232448)
        self.libraries = lambda: []
        self.folder = folder
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_kernel.c")
        flags = " ".join(f"-D{name}={value}" for name, value in dict(problem, PACKS=int(packs)).items())
        self.nvcc = os.path.join(folder, "bin", "nvcc")
        with open(self.nvcc, "w") as f:
            f.write(f"""#!/bin/sh
echo "$@" >>"{folder}/nvcc.log"
[ -e "{folder}/broken" ] && echo "error: it is broken" >&2 && exit 1
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
grep -q conv_transpose1d_workspace "$1" || exit 1
exec "{compiler}" -x c -O1 -shared -fPIC {flags} -o "$out" "{source}"
""")
        os.chmod(self.nvcc, os.stat(self.nvcc).st_mode | stat.S_IEXEC)
        os.environ["PATH"] = os.path.dirname(self.nvcc) + os.pathsep + os.environ["PATH"]
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        cuda = torch.cuda
        cuda.device = lambda d: _With("device", getattr(d, "index", d) or 0)
        cuda.stream = lambda s: _With("stream", s)
        cuda.current_stream = lambda *_: self.stream
        cuda.is_current_stream_capturing = lambda: self.stream in (self.capturing, self.joined)
        cuda.get_device_capability = lambda *_: self.capabilities[self.device]
        cuda.current_device = lambda: self.device
        cuda.get_device_properties = lambda _: self.properties

    def compiled(self):
        """The command lines that nvcc was given."""
        path = Path(self.folder, "nvcc.log")
        return path.read_text().splitlines() if path.exists() else []

    def keep(self, tensor):
        self.kept.append(tensor)
        return tensor

    def finish(self):
        for library in self.libraries():
            library.fake_finish()

    def calls(self):
        found = []
        for library in self.libraries():
            count = ctypes.c_int.in_dll(library, "fake_call_count").value
            found += list((Call * 4096).in_dll(library, "fake_calls"))[:count]
        return found

    def number(self, name, value=None):
        """A number that the library keeps, or what is put there."""
        kept = ctypes.c_int.in_dll(self.libraries()[0], name)
        if value is not None:
            kept.value = value
        return kept.value

    def capture(self, call, stream=None):
        """The number of a graph of `call`, and what it returned."""
        self.graphs += 1
        stream = stream or Stream(60)
        with _With("stream", stream), _With("capturing", stream):
            for library in self.libraries():
                library.fake_capture(stream.cuda_stream, self.graphs)
            try:
                out = call()
            finally:
                for library in self.libraries():
                    library.fake_capture(-1, 0)
        return self.graphs, out

    def join(self, call, stream):
        """What `call` returns on another stream of the capture."""
        for library in self.libraries():
            library.fake_join(stream.cuda_stream)
        with _With("stream", stream), _With("joined", stream):
            return call()

    def replay(self, graph):
        for library in self.libraries():
            library.fake_replay(graph, self.stream.cuda_stream)


def _keeping(function):
    def kept(*arguments, **options):
        made = function(*arguments, **options)
        if options.get("dtype") is torch.uint8:
            ctypes.memset(made.data_ptr(), 0xFF, made.shape[0])  # NaN: nobody has packed anything there
        return GPU.only.keep(made) if GPU.only else made
    return kept


torch.empty = _keeping(torch.empty)
for name in ("contiguous", "clone") if REAL else ("clone",):
    setattr(torch.Tensor, name, _keeping(getattr(torch.Tensor, name)))
if REAL:
    print("with PyTorch", torch.__version__, file=sys.stderr)
