"""torch.autograd.Function: what it records is that it ran."""
import torch


class Function:
    @classmethod
    def apply(cls, *arguments):
        recorded = torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments)
        with torch.no_grad():
            y = cls.forward(None, *arguments)
        if recorded:
            y.requires_grad, y.grad_fn = True, lambda *gradients: cls.backward(None, *gradients)
        return y
