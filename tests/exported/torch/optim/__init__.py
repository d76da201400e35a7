"""torch.optim: one optimizer, which writes as fused ones do."""
import torch
from torch.optim import optimizer


class SGD:
    def __init__(self, parameters, lr, fused=False):
        assert fused
        self.param_groups, self.lr = [dict(params=list(parameters))], lr

    def step(self):
        for p in self.param_groups[0]["params"]:
            if p.grad is not None:
                p.data._write([v - self.lr * g for v, g in zip(p.tolist(), p.grad.tolist())])
        for hook in optimizer.hooks:
            hook(self, (), {})
