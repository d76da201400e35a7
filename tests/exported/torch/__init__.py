"""As much of PyTorch as an exported module and its test use, in plain Python on host memory.

What counts is what the module's rules rest on, and it is as PyTorch has it (module_test.py runs on PyTorch as well):
versions that in-place operations count and writes to .data do not, addresses that are given out again, parameters,
state_dicts and their loading, hooks, autograd's modes. There is no mathematics.
"""
import ctypes
import math
import random
import struct


class dtype:
    def __init__(self, name, size, code, read=lambda v: v, write=lambda v: v):
        self.name, self.itemsize, self.code, self.read, self.write = name, size, code, read, write

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return self.name  # pickled by name: there is one of each


float32, float64 = dtype("float32", 4, ctypes.c_float), dtype("float64", 8, ctypes.c_double)
float16 = dtype("float16", 2, ctypes.c_uint16, lambda bits: struct.unpack("e", struct.pack("H", bits))[0],
                lambda v: struct.unpack("H", struct.pack("e", v))[0])
bfloat16 = dtype("bfloat16", 2, ctypes.c_uint16, lambda bits: struct.unpack("f", struct.pack("I", bits << 16))[0],
                 lambda v: (lambda n: n + 0x7fff + (n >> 16 & 1) >> 16)(struct.unpack("I", struct.pack("f", v))[0]))
uint8 = dtype("uint8", 1, ctypes.c_uint8)


class device:
    def __init__(self, name):
        if isinstance(name, device):
            name = str(name)
        self.type, _, index = name.partition(":")
        self.index = int(index or 0) if self.type == "cuda" else None

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    __repr__ = __str__


class _Block:
    """Memory. What is given back is given out again, the last first, as a caching allocator does."""
    free = {}

    def __init__(self, size):
        self.size = max(size, 1)
        kept = _Block.free.get(self.size)
        self.buffer = kept.pop() if kept else ctypes.create_string_buffer(self.size + 512)
        self.address = -(-ctypes.addressof(self.buffer) // 512) * 512

    def __del__(self):
        _Block.free.setdefault(self.size, []).append(self.buffer)


_mode = dict(grad=True, inference=False)


class _Mode:
    def __init__(self, **mode):
        self.mode = mode

    def __enter__(self):
        self.before = dict(_mode)
        _mode.update(self.mode)

    def __exit__(self, *_):
        _mode.update(self.before)


def no_grad():
    return _Mode(grad=False)


def enable_grad():
    return _Mode(grad=True)


def inference_mode():
    return _Mode(grad=False, inference=True)


def is_grad_enabled():
    return _mode["grad"]


def _dense(shape):
    strides, step = [], 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= n
    return tuple(strides)


class Tensor:
    def __init__(self, block, offset, shape, strides, dtype, device, version=None):
        self._block, self._offset, self._strides = block, offset, strides
        self.shape, self.dtype, self.device = tuple(shape), dtype, device
        self._counted = version if version is not None else [0]
        self._inference = _mode["inference"]
        self.requires_grad, self.grad_fn = False, None

    def _view(self, offset, shape, strides, version=None):
        view = Tensor(self._block, offset, shape, strides, self.dtype, self.device, version or self._counted)
        view._inference = self._inference
        return view

    @property
    def _version(self):
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self._counted[0]

    def is_inference(self):
        return self._inference

    def data_ptr(self):
        return self._block.address + self._offset * self.dtype.itemsize

    def is_contiguous(self):
        return self._strides == _dense(self.shape)

    def detach(self):
        return self._view(self._offset, self.shape, self._strides)

    def contiguous(self):
        return self if self.is_contiguous() else self.clone()

    def clone(self):
        return _of(self.tolist(), self.shape, self.dtype, self.device)

    def transpose(self, a, b):
        shape, strides = list(self.shape), list(self._strides)
        shape[a], shape[b], strides[a], strides[b] = shape[b], shape[a], strides[b], strides[a]
        return self._view(self._offset, shape, tuple(strides))

    def narrow(self, axis, start, length):
        shape = list(self.shape)
        shape[axis] = length
        return self._view(self._offset + start * self._strides[axis], shape, self._strides)

    def view(self, *shape):
        assert self.is_contiguous() and math.prod(shape) == math.prod(self.shape)
        return self._view(self._offset, shape, _dense(shape))

    def to(self, where):
        if isinstance(where, dtype):
            return self if where is self.dtype else _of(self.tolist(), self.shape, where, self.device)
        return self if device(where) == self.device else _of(self.tolist(), self.shape, self.dtype, device(where))

    def _elements(self):
        places = [self._offset]
        for n, step in zip(self.shape, self._strides):
            places = [p + i * step for p in places for i in range(n)]
        last = max(places, default=0) + 1
        return (self.dtype.code * last).from_address(self._block.address), places

    def tolist(self):  # flat
        memory, places = self._elements()
        return [self.dtype.read(memory[p]) for p in places]

    def _write(self, values):
        memory, places = self._elements()
        for p, v in zip(places, values):
            memory[p] = self.dtype.write(v)
        return self

    def copy_(self, other):
        self._counted[0] += 1
        return self._write(other.tolist())

    def fill_(self, value):
        self._counted[0] += 1
        return self._write([value] * math.prod(self.shape))

    def mul_(self, by):
        self._counted[0] += 1
        return self._write([v * by for v in self.tolist()])

    def __mul__(self, by):
        return _of([v * by for v in self.tolist()], self.shape, self.dtype, self.device)

    @property
    def data(self):  # writes to it are not counted
        return self._view(self._offset, self.shape, self._strides, [0])

    @data.setter
    def data(self, other):
        self._block, self._offset, self._strides = other._block, other._offset, other._strides
        self.shape, self.dtype, self.device = other.shape, other.dtype, other.device

    def requires_grad_(self, is_asked=True):
        self.requires_grad = is_asked
        return self

    def backward(self, gradient=None):
        self.grad_fn(gradient)

    def register_hook(self, hook):  # held by the tensor, as ever
        self._backward_hooks = [*getattr(self, "_backward_hooks", ()), hook]

    def __reduce_ex__(self, _):  # a copy has memory of its own
        return _rebuilt, (type(self), self.tolist(), self.shape, self.dtype, str(self.device), self.requires_grad)

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = _rebuilt(*self.__reduce_ex__(4)[1])
        return copied


def _rebuilt(kind, values, shape, dtype, where, requires_grad):
    made = _of(values, shape, dtype, device(where))
    made = kind(made) if kind is not Tensor else made
    return made.requires_grad_(requires_grad)


def _fresh(shape, dtype, where):
    return Tensor(_Block(math.prod(shape) * dtype.itemsize), 0, shape, _dense(shape), dtype, device(where))


def _of(values, shape, dtype, where):
    return _fresh(tuple(shape), dtype, where)._write(values)


def empty(shape, dtype=float32, device="cpu"):
    return _fresh(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), dtype, device)


_drawn = random.Random(0)


def manual_seed(seed):
    _drawn.seed(seed)


def rand(shape, dtype=float32, device="cpu"):
    return _of([_drawn.random() for _ in range(math.prod(shape))], shape, dtype, device)


def equal(a, b):
    return a.shape == b.shape and a.tolist() == b.tolist()


from torch import autograd, cuda, jit, nn, optim  # noqa: E402,F401
