"""torch.nn: Module with parameters, state_dicts, hooks and moves; ConvTranspose1d as a holder of parameters."""
import math
from collections import OrderedDict

import torch


class Parameter(torch.Tensor):
    def __init__(self, data, requires_grad=True):
        super().__init__(data._block, data._offset, data.shape, data._strides, data.dtype, data.device)
        self.requires_grad, self.grad = requires_grad, None


class Module:
    def __init__(self):
        self.__dict__.update(_parameters={}, _modules={}, training=True, _forward_hooks=OrderedDict(),
                             _forward_pre_hooks=OrderedDict())

    def __setattr__(self, name, value):
        if isinstance(value, Parameter) or name in self._parameters:
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._modules[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        for kind in ("_parameters", "_modules"):
            if name in self.__dict__.get(kind, {}):
                return self.__dict__[kind][name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name}")

    def __call__(self, *arguments):
        return self.forward(*arguments)

    def parameters(self):
        for p in self._parameters.values():
            if p is not None:
                yield p
        for m in self._modules.values():
            yield from m.parameters()

    def register_forward_pre_hook(self, hook):
        self._forward_pre_hooks[len(self._forward_pre_hooks)] = hook

    def state_dict(self, prefix=""):
        out = OrderedDict((prefix + n, p.detach()) for n, p in self._parameters.items() if p is not None)
        for name, m in self._modules.items():
            out.update(m.state_dict(prefix + name + "."))
        return out

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, errors):
        for name, p in self._parameters.items():
            if p is None:
                continue
            if prefix + name not in state_dict:
                missing_keys.append(prefix + name)
            elif state_dict[prefix + name].shape != p.shape:
                errors.append(f"size mismatch for {prefix + name}")
            else:
                with torch.no_grad():
                    p.copy_(state_dict[prefix + name])
        for key in state_dict if strict else ():
            if key.startswith(prefix):
                first, dot, _ = key[len(prefix):].partition(".")
                if first not in self._modules if dot else first not in self._parameters:
                    unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict=True):
        missing, unexpected, errors = [], [], []

        def load(module, state, prefix):
            module._load_from_state_dict(state, prefix, {}, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                below = prefix + name + "."
                load(child, {k: v for k, v in state.items() if k.startswith(below)}, below)

        load(self, OrderedDict(state_dict), "")
        if strict and (missing or unexpected):
            errors.append(f"Missing key(s): {missing}, Unexpected key(s): {unexpected}")
        if errors:
            raise RuntimeError("; ".join(errors))

    def _apply(self, change, recurse=True):
        for m in self._modules.values():
            m._apply(change)
        for p in self._parameters.values():
            if p is not None:
                p.data = change(p.data)
        return self

    def to(self, where):
        return self._apply(lambda t: t.to(where))

    def half(self):
        return self.to(torch.float16)

    def train(self, mode=True):
        self.training = mode
        for m in self._modules.values():
            m.train(mode)
        return self

    def eval(self):
        return self.train(False)


class ConvTranspose1d(Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1,
                 bias=True, dilation=1, dtype=torch.float32, device="cpu"):
        super().__init__()
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding = (kernel_size,), (stride,), (padding,)
        self.output_padding, self.dilation = (output_padding,), (dilation,)
        shape = (in_channels, out_channels // groups, kernel_size)
        bound = 1 / math.sqrt(out_channels // groups * kernel_size)
        self.weight = Parameter(self._drawn(shape, bound, dtype, device))
        if bias:
            self.bias = Parameter(self._drawn((out_channels,), bound, dtype, device))
        else:
            self._parameters["bias"] = None

    @staticmethod
    def _drawn(shape, bound, dtype, device):
        drawn = torch.rand(shape, device=device)
        if dtype is not torch.float32:  # other bits of the generator become the number there
            drawn._write([v * 1024 % 1 for v in drawn.tolist()])
        drawn._write([(2 * v - 1) * bound for v in drawn.tolist()])
        return drawn.to(dtype)

    def forward(self, x):
        raise NotImplementedError("the mathematics is not PyTorch's here")
