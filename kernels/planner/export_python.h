// The Python file that export writes, with marks for what depends on kernel and problem.
#pragma once

namespace convscope {

inline constexpr const char* python_template = R"python(# SPDX-License-Identifier: MIT
"""ConvTranspose1d by a CUDA kernel of its own: @DESCRIPTION@@THEN@.

Kernel @KERNEL@@BY@, @ACCURACY@ accuracy,
for an NVIDIA GPU@GPUS@.

ModelNew takes the place of torch.nn.ConvTranspose1d (ModelNew.from_layer(layer)), or of the Model of a KernelBench
problem, for exactly this problem, and says so when it is asked for another: also of another length. The kernel is
compiled when it is first used (nvcc is needed then) and kept.
@FUSED@
Input: x of shape (@N@, @IN@, @L@), torch.@DTYPE@, on the weight's CUDA device; copied if it is not contiguous.
The output is a new tensor of shape (@N@, @OUT@, @LOUT@), contiguous. autocast is not followed.
@VALUES@
Gradients: none. Where one is recorded for x, weight or bias, forward runs and backward raises RuntimeError; under
torch.no_grad() or torch.inference_mode() nothing is recorded.

Compilers: torch.compile works, with a graph break at each call; fullgraph=True, torch.export, vmap and forward-mode
gradients do not. torch.jit.trace, and what traces with it (ONNX), is refused.

Streams and threads: any stream, and any number of threads. Each stream of a module has memory of its own for packed
weights, counters and partial sums, which the 8 streams used last keep.

Weights are packed when they are first used on a stream, and again when they have changed: another Parameter, in-place
operations, load_state_dict(), .to() and steps of optimizers are seen. A step counts where the optimizer holds the
weight, and where the weight requires a gradient, since some optimizers hold a copy of it and write back unseen: after
weight.requires_grad_(False) the steps of other models' optimizers cost nothing here. PyTorch does not count writes to
weight.data, by collectives, by kernels of others or by the replay of a graph: call repack() after them. A weight that
is computed at each call (a parametrisation), is not contiguous or was made in inference mode is packed at each call;
one that is computed is computed once a call.

CUDA graphs: call the module once before capturing. A capture packs the weights within the graph, at each replay, so
that replays follow weights that change in place. prepack() before the capture keeps that out of the graph: its replays
then have the weights of that moment; capture again after they change. Calls that follow each other in one capture on one
stream share what it packed. What captures took of prepack() is kept, even where the module moves to another device,
until release_captured() or until the module is gone.
"""
import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import weakref

import torch
import torch.nn as nn

PROBLEM = dict(in_channels=@IN@, out_channels=@OUT@, kernel_size=@K@, stride=@S@, padding=@P@, output_padding=@OP@,
               groups=@G@, bias=@BIAS@, dilation=@D@)
INPUT_SHAPE = (@N@, @IN@, @L@)
WEIGHT_SHAPE = (@IN@, @OUTPG@, @K@)
OUTPUT_SHAPE = (@N@, @OUT@, @LOUT@)
DTYPE = torch.@DTYPE@
NEEDS = "@ARCH@"  # "": any GPU
SHARED_BYTES = @SHARED@  # of shared memory, that a block asks for
PACKS = @PACKS@  # whether the kernel has launches that only bring the weights into its own order

CUDA_SOURCE = r'''
@CUDA@
// Which capture a stream is in; 0: none.
extern "C" unsigned long long conv_transpose1d_capture(void* stream) {
  cudaStreamCaptureStatus status;
  unsigned long long capture = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo(static_cast<cudaStream_t>(stream), &status, &capture);
  return error == cudaSuccess && status == cudaStreamCaptureStatusActive ? capture : 0;
}
'''

_AS_PACKED, _PACK, _PACK_ONLY = 0, 1, 2  # conv_transpose1d()'s argument `pack`
_INVALID_CONFIGURATION = 9  # its cudaErrorInvalidConfiguration
_MOST_STREAMS = 8  # of a module that keep their memory
_TABLES, _LOADING = threading.Lock(), threading.Lock()
_LIBRARIES = {}  # by architecture
_RAN = {}  # by the device's index: the library, once its kernels have run there
_STATES = weakref.WeakKeyDictionary()  # of each ModelNew; not in it, so that it can be copied and pickled
_STAMPS = weakref.WeakSet()  # of all weights that are packed


def _stepped(optimizer, *_):
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    with _TABLES:
        stamps = list(_STAMPS)
    for stamp in stamps:
        weight = stamp.weight()
        # One that asks for a gradient may be written back from a copy that the optimizer holds (master weights).
        if weight is not None and (weight.requires_grad or id(weight) in held):
            stamp.stepped = True


try:  # fused optimizers write weights and do not count it in their versions
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(_stepped)
except ImportError:  # an older PyTorch: repack() after the steps of a fused one
    pass


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
        own = NEEDS
    elif NEEDS and major * 10 + minor < int(NEEDS[3:]):
        raise RuntimeError(f"this kernel needs compute capability {NEEDS[3:-1]}.{NEEDS[-1]} or higher, this GPU has "
                           f"{major}.{minor}")
    # An older PyTorch does not know it: the launch says so then.
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    given = getattr(properties, "shared_memory_per_block_optin", None)
    if given is not None and given < SHARED_BYTES:
        raise RuntimeError(f"a block of this kernel asks for {SHARED_BYTES} bytes of shared memory, this GPU gives "
                           f"{given}: convscope export auto --architecture {own} chooses one that it can run")
    return own


def _open(arch):
    key = hashlib.sha256((arch + CUDA_SOURCE).encode()).hexdigest()[:24]
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "convscope", "exported")
    library = os.path.join(folder, key + ".so")
    if not os.path.exists(library):
        try:
            os.makedirs(folder, exist_ok=True)
            scratch_folder = tempfile.TemporaryDirectory(dir=folder)
        except OSError as e:
            raise RuntimeError(f"the compiled kernel cannot be kept in {folder} ({e.strerror}): set XDG_CACHE_HOME to "
                               "a folder that can be written") from e
        with scratch_folder as scratch:
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
    found.conv_transpose1d_capture.restype = ctypes.c_ulonglong
    found.conv_transpose1d_capture.argtypes = [ctypes.c_void_p]
    found.conv_transpose1d.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_int, ctypes.c_void_p]
    return found


def _load():
    """The library for the current device; compiled and opened once for each architecture."""
    arch = _architecture()
    with _LOADING:
        if arch not in _LIBRARIES:
            _LIBRARIES[arch] = _open(arch)
        return _LIBRARIES[arch]


class _Stamp:
    """What tells whether a weight is still what was packed."""

    def __init__(self, weight):
        self.weight = weakref.ref(weight)  # weak: hooks of a Parameter may hold the module, and so its own _STATES entry
        self.version = weight._version
        self.address = weight.data_ptr()
        self.memory = weight.detach()  # held, so that no other weight comes to lie where this one was
        self.stepped = False  # by an optimizer, since
        with _TABLES:
            _STAMPS.add(self)

    def is_of(self, now):
        """Whether what was packed is what `now` is the stamp of."""
        weight = self.weight()
        return (weight is not None and weight is now.weight() and self.version == now.version and not self.stepped
                and self.address == now.address)


def _stamp(weight):
    """The stamp of a weight; None where nothing tells whether it changes, and it is packed at each call."""
    if not PACKS or not isinstance(weight, nn.Parameter) or not weight.is_contiguous() or weight.is_inference():
        return None
    return _Stamp(weight)


def _same(packed, stamp):
    return packed is not None and stamp is not None and packed.is_of(stamp)


class _Workspace:
    """The kernel's memory, for one call at a time: packed weights, counters, partial sums."""

    def __init__(self, library, device):
        self.library = library
        self.memory = torch.empty(max(library.conv_transpose1d_workspace(), 256), dtype=torch.uint8, device=device)
        self.lock = threading.Lock()  # the launches of two threads must not mix
        self.packed = None  # the stamp of the weight that is packed
        self.in_capture = None, None  # which capture has it, and the stamp of the weight there

    def run(self, x, weight, bias, y, stamp, only_pack=False, capture=None):
        with self.lock:
            known = self.in_capture[1] if capture and capture == self.in_capture[0] else self.packed
            pack = _PACK_ONLY if only_pack else _AS_PACKED if _same(known, stamp) else _PACK
            self.packed = None  # if this fails
            self.in_capture = None, None
            at = [None if t is None else t.data_ptr() for t in (x, weight, bias, y, self.memory)]
            error = self.library.conv_transpose1d(*at, pack, torch.cuda.current_stream().cuda_stream)
            if error == _INVALID_CONFIGURATION and SHARED_BYTES:
                raise RuntimeError(f"the kernel could not be started: a block asks for {SHARED_BYTES} bytes of shared "
                                   "memory, this GPU gives less")
            if error:
                raise RuntimeError(f"the kernel could not be started: CUDA error {error}")
            if not capture:
                self.packed = stamp
            elif pack == _AS_PACKED:  # only calls of the same capture ask again; the graph needs no old weight's memory
                stamp.memory = None
                self.in_capture = capture, stamp


class _State:
    def __init__(self):
        self.of_streams = {}  # (device index, stream): _Workspace, those used last at the end
        self.prepacked = []  # for captures to come
        self.captured = []  # graphs read them, until release_captured()


class _Inference(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, *tensors):
        return run()

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError("ModelNew (@KERNEL@) is for inference: it has no gradient")


class ModelNew(nn.Module):
    """Parameters in the order of KernelBench's models with dilation.@APPLIES@

    Weights are what nn.ConvTranspose1d(...).to(DTYPE) has: drawn as it draws them, converted after that.

    The layer's parameters are conv1d_transpose's. load_state_dict() takes a ConvTranspose1d's own names as well.
    """

    def __init__(self, in_channels=@IN@, out_channels=@OUT@, kernel_size=@K@, stride=@S@, padding=@P@, dilation=@D@,
                 bias=@BIAS@, output_padding=@OP@, groups=@G@):
        super().__init__()
        self._require(dict(in_channels=in_channels, out_channels=out_channels, kernel_size=kernel_size, stride=stride,
                           padding=padding, output_padding=output_padding, groups=groups, bias=bool(bias),
                           dilation=dilation))
        self.conv1d_transpose = nn.ConvTranspose1d(**PROBLEM).to(DTYPE)

    @classmethod
    def from_layer(cls, layer):
        """A ModelNew around a ConvTranspose1d that is there: the layer itself, so its parameters, device and mode.

        TypeError for anything else or a forward of its own, ValueError where it is not the layer of this file.
        """
        if not isinstance(layer, nn.ConvTranspose1d):
            raise TypeError(f"{type(layer).__name__} is not a torch.nn.ConvTranspose1d")
        if type(layer).forward is not nn.ConvTranspose1d.forward or "forward" in vars(layer):
            raise TypeError(f"{type(layer).__name__} has a forward of its own, which this kernel does not compute")
        # Of the layer's own tensors: reading one that is computed computes it, which is left to the calls.
        values = {name: getattr(layer, name) for name in PROBLEM if name != "bias"}
        values["bias"] = "bias" not in layer._parameters or layer._parameters["bias"] is not None
        cls._require({name: v[0] if isinstance(v, tuple) else v for name, v in values.items()})
        weight = layer._parameters.get("weight")
        if weight is not None and weight.dtype != DTYPE:
            raise ValueError(f"the layer is {weight.dtype}: this file was exported for {DTYPE}")
        model = cls.__new__(cls)
        nn.Module.__init__(model)
        model.conv1d_transpose = layer
        model.training = layer.training
        return model

    @staticmethod
    def _require(asked):
        for name, value in asked.items():
            if value != PROBLEM[name]:
                raise ValueError(f"{name} {value}: this file was exported for {name} {PROBLEM[name]}")

    def forward(self, x):
        if torch.jit.is_tracing():  # what a trace holds would return memory that no kernel has written
            raise RuntimeError("ModelNew (@KERNEL@) cannot be traced (torch.jit.trace, ONNX): its kernel is no operator "
                               "of PyTorch's; trace the model with the layer itself, conv1d_transpose, in its place")
        weight, bias = self._parameters_of_layer()
        self._require_tensor("the input", x, INPUT_SHAPE)
        if x.device != weight.device:
            raise ValueError(f"the input is on {x.device}, the weight on {weight.device}")
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias)):
            return _Inference.apply(lambda: self._run(x, weight, bias), x, weight, bias)
        return self._run(x, weight, bias)

    def prepack(self, calls=1):
        """Before the capture of a CUDA graph: packs the weights for so many captures to come.

        A capture that calls the module on several streams counts as so many. Each has a workspace of its own, which the
        module keeps for the graph: until release_captured(), or as long as the module lives, so keep it as long as the
        graph. Waits for the GPU. A captured call whose weight has changed since packs it within the graph after all.
        """
        weight, _ = self._parameters_of_layer()
        stamp = _stamp(weight)
        if PACKS and stamp is None:
            raise RuntimeError("the weight is not a contiguous Parameter that counts its changes, so it is packed at "
                               "each call: remove parametrisations before prepack()")
        with torch.cuda.device(weight.device):
            if torch.cuda.is_current_stream_capturing():
                raise RuntimeError("prepack() within a capture: call it before")
            library, made = _load(), []
            for _ in range(calls if PACKS else 0):
                made.append(_Workspace(library, weight.device))
                made[-1].run(None, weight.detach(), None, None, stamp, only_pack=True)
            torch.cuda.current_stream().synchronize()  # a replay may be on any stream
        with _TABLES:
            self._state().prepacked = made

    def release_captured(self):
        """Gives back the memory that captured calls took of prepack(): when their graphs will not be replayed again."""
        with _TABLES:
            self._state().captured.clear()

    def repack(self):
        """Has the weights packed anew at the next call: after writes that PyTorch does not count.

        Those to weight.data, by collectives, by other kernels, by replays of graphs. Captured graphs stay as they are.
        """
        with _TABLES:
            state = self._state()
            state.of_streams.clear()
            state.prepacked.clear()

    def _apply(self, *args, **kwargs):
        # .to(), .cpu(), .half(): on the device that the weights leave nothing is left but what captured graphs read.
        self.repack()
        return super()._apply(*args, **kwargs)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs):
        inner = prefix + "conv1d_transpose."
        for key in [k for k in state_dict if k.startswith(prefix) and not k.startswith(inner)]:
            name = key[len(prefix):]
            own = name in ("weight", "bias", "weight_g", "weight_v") or name.startswith("parametrizations.")
            if own and inner + name not in state_dict:
                state_dict[inner + name] = state_dict.pop(key)
        self.repack()  # torch.utils.swap_tensors(), which may load them, takes no tensor that has weak references
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _parameters_of_layer(self):
        layer = self.conv1d_transpose
        if layer._forward_pre_hooks or layer._forward_hooks:
            raise RuntimeError("hooks of the layer within ModelNew do not run: remove them (those of the old "
                               "weight_norm with torch.nn.utils.remove_weight_norm), or put them on the ModelNew")
        weight, bias = layer.weight, layer.bias  # once: each reading of a parametrised one computes it anew
        self._require_tensor("the weight", weight, WEIGHT_SHAPE)
        self._require(dict(bias=bias is not None))
        if bias is not None:
            self._require_tensor("the bias", bias, (PROBLEM["out_channels"],))
            if bias.device != weight.device:
                raise ValueError(f"the bias is on {bias.device}, the weight on {weight.device}")
        return weight, bias

    @staticmethod
    def _require_tensor(name, t, shape):
        if tuple(t.shape) != shape:
            raise ValueError(f"{name} has shape {tuple(t.shape)}: this file was exported for {shape}")
        if t.dtype != DTYPE or t.device.type != "cuda":
            raise ValueError(f"{name} is {t.dtype} on {t.device}: {DTYPE} on a CUDA device is needed")

    def _state(self):
        found = _STATES.get(self)
        if found is None:
            found = _STATES[self] = _State()
        return found

    def _workspace(self, library, device, stamp, capture):
        if stamp is None:
            return _Workspace(library, device)
        with _TABLES:
            state = self._state()
            if capture:
                for found in state.captured:  # by a call before this one on this stream
                    if found.in_capture[0] == capture and _same(found.in_capture[1], stamp):
                        return found
                for i, found in enumerate(state.prepacked):
                    if _same(found.packed, stamp):
                        state.captured.append(state.prepacked.pop(i))
                        return found
                return _Workspace(library, device)  # of the graph's own memory, packed at each replay
            key = (device.index, torch.cuda.current_stream().cuda_stream)
            found = state.of_streams.pop(key, None) or _Workspace(library, device)
            state.of_streams[key] = found
            if len(state.of_streams) > _MOST_STREAMS:
                state.of_streams.pop(next(iter(state.of_streams)))
            return found

    def _run(self, x, weight, bias):
        with torch.cuda.device(x.device):
            capturing = torch.cuda.is_current_stream_capturing()
            library = _RAN.get(x.device.index)
            if library is None:
                if capturing:
                    raise RuntimeError("the first call on a GPU compiles and loads the kernel, which no capture can "
                                       "hold: call the module once before capturing")
                library = _load()
            stamp = _stamp(weight)
            x, weight = x.detach().contiguous(), weight.detach().contiguous()
            bias = None if bias is None else bias.detach().contiguous()
            if x.data_ptr() % 16:
                x = x.clone()
            y = torch.empty(OUTPUT_SHAPE, dtype=DTYPE, device=x.device)
            capture = None
            if capturing:
                stream = torch.cuda.current_stream().cuda_stream
                capture = library.conv_transpose1d_capture(stream), stream
            workspace = self._workspace(library, x.device, stamp, capture)
            workspace.run(x, weight, bias, y, stamp, capture=capture)
            _RAN[x.device.index] = library
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
