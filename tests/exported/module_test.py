#!/usr/bin/env python3
"""What an exported module takes, refuses, copies and loads: module_test.py CONVSCOPE COMPILER [unittest's own options].

The file is written by CONVSCOPE; its library is fake_kernel.c, compiled by COMPILER; torch is the package beside this
file. With CONVSCOPE_WITH_PYTORCH=1 the same tests run on PyTorch's tensors and modules, on the CPU.
"""
import copy
import gc
import os
import pickle
import sys
import unittest
import weakref

if os.environ.get("CONVSCOPE_WITH_PYTORCH"):
    sys.path.append(sys.path.pop(0))  # this folder, with a torch of its own, behind the real one

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402

import gpu  # noqa: E402
import harness  # noqa: E402
from harness import ModuleTest, flat  # noqa: E402


class Refusals(ModuleTest):
    def test_what_it_computes_is_the_layer(self):
        model, x = self.model(), self.x()
        y = self.run_without_gradient(model, x)
        self.assertEqual(tuple(y.shape), (2, 6, 15))
        self.assert_right(y, model, x)

    def test_inputs_that_lie_elsewhere_are_copied(self):
        model = self.model()
        turned = torch.rand((8, 4, 2), device=gpu.DEVICE).transpose(0, 2)
        shifted = torch.rand((65,), device=gpu.DEVICE).narrow(0, 1, 64).view(*harness.INPUT)
        self.assertTrue(shifted.data_ptr() % 16)
        for x in (turned, shifted):
            self.assert_right(self.run_without_gradient(model, x), model, x)
            self.assertEqual(self.gpu.calls()[-1].x % 16, 0)

    def refuses(self, error, says, call):
        before = len(self.gpu.calls())
        with self.assertRaisesRegex(error, says):
            call()
        self.assertEqual(len(self.gpu.calls()), before, "the kernel was called")

    def test_refuses_another_problem(self):
        model, x = self.model(), self.x()
        self.refuses(ValueError, r"input has shape \(2, 4, 9\).*exported for \(2, 4, 8\)",
                     lambda: model(torch.rand((2, 4, 9), device=gpu.DEVICE)))
        self.refuses(ValueError, "the input is torch.float16", lambda: model(x.to(torch.float16)))
        self.refuses(ValueError, "stride 3: this file was exported for stride 2", lambda: self.module.ModelNew(stride=3))
        model.conv1d_transpose.weight = nn.Parameter(torch.rand((4, 3, 4), device=gpu.DEVICE))
        self.refuses(ValueError, r"the weight has shape \(4, 3, 4\)", lambda: model(x))

    def test_refuses_a_bias_that_the_kernel_must_not_read(self):
        model, x = self.model(), self.x()
        model.conv1d_transpose.bias = nn.Parameter(torch.rand((6,), dtype=torch.float64, device=gpu.DEVICE))
        self.refuses(ValueError, "the bias is torch.float64", lambda: model(x))
        model.conv1d_transpose.bias = None
        self.refuses(ValueError, "bias False: this file was exported for bias True", lambda: model(x))

    def test_refuses_hooks_that_would_not_run(self):
        model = self.model()
        model.conv1d_transpose.register_forward_pre_hook(lambda *_: None)
        self.refuses(RuntimeError, "hooks.*remove_weight_norm", lambda: model(self.x()))

    @unittest.skipIf(gpu.REAL, "PyTorch's tensors are on one device here")
    def test_refuses_other_devices(self):
        model, x = self.model(), self.x()
        self.refuses(ValueError, "the input is torch.float32 on cpu", lambda: model(x.to("cpu")))
        self.refuses(ValueError, "the input is on cuda:1, the weight on cuda:0", lambda: model(x.to("cuda:1")))
        model.conv1d_transpose.bias.data = model.conv1d_transpose.bias.data.to("cpu")
        self.refuses(ValueError, "the bias is torch.float32 on cpu", lambda: model(x))
        model.conv1d_transpose.bias.data = model.conv1d_transpose.bias.data.to("cuda:1")
        self.refuses(ValueError, "the bias is on cuda:1, the weight on cuda:0", lambda: model(x))

    def test_a_gradient_is_refused_for_each_who_asks(self):
        layer_of = {"weight": lambda m: m.conv1d_transpose.weight, "bias": lambda m: m.conv1d_transpose.bias}
        for who in ("weight", "bias", "x"):
            model, x = self.model(), self.x()
            for p in model.parameters():
                p.requires_grad_(False)
            (x if who == "x" else layer_of[who](model)).requires_grad_(True)
            y = model(x)
            self.assertTrue(y.requires_grad, who)
            self.assert_right(y, model, x)
            with self.assertRaisesRegex(RuntimeError, "for inference: it has no gradient"):
                y.backward(torch.rand((2, 6, 15), device=gpu.DEVICE))

    def test_nobody_asks_nothing_is_refused(self):
        model, x = self.model(), self.x()
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                y = model(x)
            self.assertFalse(y.requires_grad)
            self.assert_right(y, model, x)
        for p in model.parameters():
            p.requires_grad_(False)
        self.assertFalse(model(x).requires_grad)

    def test_a_trace_is_refused(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        says = "ModelNew .registers. cannot be traced"
        if gpu.REAL:
            self.refuses(RuntimeError, says, lambda: torch.jit.trace(model, x))
        else:
            self.addCleanup(setattr, torch.jit, "is_tracing", torch.jit.is_tracing)
            torch.jit.is_tracing = lambda: True
            self.refuses(RuntimeError, says, lambda: model(x))

    def test_a_gpu_with_too_little_shared_memory(self):
        model, x = self.model(), self.x()
        self.assertGreaterEqual(self.module.SHARED_BYTES, 0)
        self.module.SHARED_BYTES = 103424
        self.gpu.properties.shared_memory_per_block_optin = 101376
        self.refuses(RuntimeError, "asks for 103424 bytes of shared memory, this GPU gives 101376.*--architecture sm_90",
                     lambda: model(x))
        self.assertEqual(self.gpu.compiled(), [])
        # A PyTorch that does not know: the launch tells.
        del self.gpu.properties.shared_memory_per_block_optin
        self.run_without_gradient(model, x)
        self.gpu.number("fake_error", 9)
        with self.assertRaisesRegex(RuntimeError, "asks for 103424 bytes of shared memory, this GPU gives less"):
            self.run_without_gradient(model, x)

    def test_an_older_gpu(self):
        self.gpu.capabilities[0] = (7, 5)
        for needs, says in (("sm_80", "needs compute capability 8.0 or higher, this GPU has 7.5"),
                            ("sm_90a", "needs a GPU of compute capability 9.0, this one has 7.5")):
            self.module.NEEDS = needs
            self.refuses(RuntimeError, says, lambda: self.model()(self.x()))

    def test_a_cache_that_cannot_be_written(self):
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.gpu.nvcc, "no folder")
        with self.assertRaisesRegex(RuntimeError, "cannot be kept in .*no folder.*: set XDG_CACHE_HOME"):
            self.model()(self.x())

    def test_what_does_not_compile_is_said(self):
        open(os.path.join(self.folder.name, "broken"), "w").close()
        with self.assertRaisesRegex(RuntimeError, "does not compile: (.|\n)*nvcc(.|\n)*it is broken"):
            self.model()(self.x())

    def test_a_launch_that_fails_is_said_and_packs_anew(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        self.gpu.number("fake_error", 1)
        with self.assertRaisesRegex(RuntimeError, "could not be started: CUDA error 1"):
            self.run_without_gradient(model, x)
        self.gpu.number("fake_error", 0)
        self.assert_right(self.run_without_gradient(model, x), model, x)
        self.assertEqual(self.packs(), [1, 0, 1])


class Copies(ModuleTest):
    def test_deepcopy_after_a_call(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        copied = copy.deepcopy(model)
        with torch.no_grad():
            copied.conv1d_transpose.weight.mul_(2)
        for m in (model, copied):
            self.assert_right(self.run_without_gradient(m, x), m, x)
        self.assertEqual(set(vars(model)) - set(vars(nn.ConvTranspose1d(1, 1, 1))), set(), "state of its own")

    def test_pickle_after_a_call(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        again = pickle.loads(pickle.dumps(model))
        self.assertTrue(torch.equal(again.conv1d_transpose.weight, model.conv1d_transpose.weight))
        self.assert_right(self.run_without_gradient(again, x), again, x)

    def test_the_library_is_compiled_once(self):
        a, b, x = self.model(), self.model(), self.x()
        for m in (a, b, copy.deepcopy(a)):
            self.run_without_gradient(m, x)
        line, = self.gpu.compiled()
        self.assertIn("-O3 -std=c++20 -arch=sm_90 -shared -Xcompiler -fPIC", line)
        self.exported(self.kernel)._load()
        self.assertEqual(len(self.gpu.compiled()), 1, "the file in the cache is taken")

    @unittest.skipIf(gpu.REAL, "PyTorch's tensors are on one device here")
    def test_gpus_of_two_architectures(self):
        model, x = self.model(), self.x()
        self.assert_right(self.run_without_gradient(model, x), model, x)
        model.to("cuda:1")
        y = self.run_without_gradient(model, x.to("cuda:1"))
        self.assert_right(y, model, x)
        self.assertEqual(set(self.module._LIBRARIES), {"sm_90", "sm_80"})
        self.assertEqual(len(self.gpu.compiled()), 2)

    def test_nothing_is_left_behind_when_it_moves(self):
        model = self.model()
        self.run_without_gradient(model, self.x())
        model.prepack()
        state = self.module._STATES[model]
        left = [weakref.ref(w) for w in [*state.of_streams.values(), *state.prepacked]]
        self.assertEqual(len(left), 2)
        model.to(torch.float64)
        self.assertEqual([w() for w in left], [None, None])

    def test_a_hook_of_the_weight_that_holds_the_module(self):
        model = self.model()
        model.conv1d_transpose.weight.register_hook(lambda gradient, held=model: None)
        self.run_without_gradient(model, self.x())
        gone = weakref.ref(model)
        del model
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual((len(self.module._STATES), len(self.module._STAMPS)), (0, 0))

    @unittest.skipIf(not gpu.REAL, "PyTorch's own way of moving and loading")
    def test_tensors_that_are_swapped(self):
        future = torch.__future__
        before = future.get_swap_module_params_on_conversion()
        self.addCleanup(future.set_swap_module_params_on_conversion, before)
        future.set_swap_module_params_on_conversion(True)
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        self.gpu.finish()
        model.load_state_dict(self.module.ModelNew().state_dict())
        self.assert_right(self.run_without_gradient(model, x), model, x)
        model.to(torch.float64).to(torch.float32)
        self.assert_right(self.run_without_gradient(model, x), model, x)


class States(ModuleTest):
    def taken(self, model, weight, bias):
        self.assertEqual(flat(model.conv1d_transpose.weight), flat(weight))
        self.assertEqual(flat(model.conv1d_transpose.bias), flat(bias))

    def test_a_layers_own_checkpoint_loads(self):
        layer, model = self.layer(), self.model()
        model.load_state_dict(layer.state_dict(), strict=True)
        self.taken(model, layer.weight, layer.bias)
        # Within a model, whose names are as they were when the layer was PyTorch's.
        before, after = nn.Module(), nn.Module()
        before.up, after.up = self.layer(), self.model()
        before.other, after.other = self.layer(), self.layer()
        after.load_state_dict(before.state_dict(), strict=True)
        self.taken(after.up, before.up.weight, before.up.bias)
        self.assertEqual(flat(after.other.weight), flat(before.other.weight))

    def test_its_own_checkpoint_loads(self):
        a, b = self.model(), self.model()
        self.assertEqual(list(a.state_dict()), ["conv1d_transpose.weight", "conv1d_transpose.bias"])
        b.load_state_dict(a.state_dict(), strict=True)
        self.taken(b, a.conv1d_transpose.weight, a.conv1d_transpose.bias)
        layer = self.layer()
        layer.load_state_dict(a.conv1d_transpose.state_dict())
        self.taken(a, layer.weight, layer.bias)

    def test_wrong_checkpoints_are_refused_as_ever(self):
        model, layer = self.model(), self.layer()
        state = layer.state_dict()
        for change, says in ((lambda s: s.pop("bias"), "conv1d_transpose.bias"),
                             (lambda s: s.update(running=s["bias"]), "[\"']running[\"']"),
                             (lambda s: s.update({"conv1d_transpose.weight": s["weight"]}), "weight"),
                             (lambda s: s.update(weight_g=s["bias"]), "weight_g"),
                             (lambda s: s.update(weight=s["bias"]), "size mismatch.*conv1d_transpose.weight")):
            wrong = copy.copy(state)
            change(wrong)
            with self.assertRaisesRegex(RuntimeError, says):
                model.load_state_dict(wrong, strict=True)
        self.assertIn("weight", state, "what was given is not changed")

    def test_from_a_layer(self):
        layer, x = self.layer(), self.x()
        layer.weight.requires_grad_(False)
        layer.eval()
        torch.manual_seed(3)
        next_draw = torch.rand((1,))
        torch.manual_seed(3)
        model = self.module.ModelNew.from_layer(layer)
        self.assertTrue(torch.equal(torch.rand((1,)), next_draw), "no weights were drawn")
        self.assertIs(model.conv1d_transpose.weight, layer.weight)
        self.assertIs(model.conv1d_transpose.bias, layer.bias)
        self.assertFalse(model.training or layer.weight.requires_grad)
        self.assert_right(self.run_without_gradient(model, x), model, x)
        with torch.no_grad():
            layer.weight.mul_(2)
        self.assert_right(self.run_without_gradient(model, x), model, x)

    def test_from_what_it_is_not(self):
        for changed, says in ((dict(stride=3), "stride 3: .* stride 2"), (dict(bias=False), "bias False: .* bias True"),
                              (dict(dilation=2), "dilation 2"), (dict(output_padding=1), "output_padding 1"),
                              (dict(dtype=torch.float16), "torch.float16: this file was exported for torch.float32")):
            with self.assertRaisesRegex(ValueError, says):
                self.module.ModelNew.from_layer(self.layer(**changed))

        class Causal(nn.ConvTranspose1d):
            def forward(self, x):
                return x

        layer = self.layer()
        layer.__class__ = Causal
        for other in (layer, nn.Module(), self.model()):
            with self.assertRaises(TypeError):
                self.module.ModelNew.from_layer(other)

    def test_it_is_drawn_as_the_layer_is(self):
        torch.manual_seed(7)
        layer = self.layer()
        torch.manual_seed(7)
        model = self.model()
        self.taken(model, layer.weight, layer.bias)
        for name in ("float64", "float16", "bfloat16"):
            module = self.exported(self.kernel, "--dtype", {"float64": "f64", "float16": "f16", "bfloat16": "bf16"}[name])
            torch.manual_seed(7)
            layer = self.layer().to(getattr(torch, name))
            torch.manual_seed(7)
            model = module.ModelNew().to(gpu.DEVICE)
            self.assertEqual(repr(model.conv1d_transpose.weight.dtype), "torch." + name)
            self.taken(model, layer.weight, layer.bias)
        # KernelBench's order.
        self.module.ModelNew(4, 6, 3, 2, 1, 1, True, 0, 2)


if __name__ == "__main__":
    harness.main()
