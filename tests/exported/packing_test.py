#!/usr/bin/env python3
"""When an exported module packs its weights, and which memory its calls use: packing_test.py CONVSCOPE COMPILER [unittest's own options].

The file is written by CONVSCOPE; its library is fake_kernel.c, compiled by COMPILER; torch is the package beside this
file. With CONVSCOPE_WITH_PYTORCH=1 the same tests run on PyTorch's tensors and modules, on the CPU.
"""
import os
import sys
import unittest
import weakref

if os.environ.get("CONVSCOPE_WITH_PYTORCH"):
    sys.path.append(sys.path.pop(0))  # this folder, with a torch of its own, behind the real one

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402

import gpu  # noqa: E402
import harness  # noqa: E402
from gpu import Stream  # noqa: E402
from harness import ModuleTest, flat  # noqa: E402


class Packing(ModuleTest):
    def test_once(self):
        model = self.model()
        for _ in range(3):
            x = self.x()
            self.assert_right(self.run_without_gradient(model, x), model, x)
        self.assertEqual(self.packs(), [1, 0, 0])

    def right_after(self, change, packs, before=lambda model: None):
        model, x = self.model(), self.x()
        before(model)
        self.run_without_gradient(model, x)
        self.gpu.finish()
        change(model)
        self.assert_right(self.run_without_gradient(model, x), model, x)
        self.assertEqual(self.packs(), packs)

    def test_again_when_the_weight_changes(self):
        def in_place(model):
            with torch.no_grad():
                model.conv1d_transpose.weight.mul_(2)

        def another(model):
            model.conv1d_transpose.weight = nn.Parameter(torch.rand(harness.WEIGHT, device=gpu.DEVICE))

        def data(model):
            model.conv1d_transpose.weight.data = torch.rand(harness.WEIGHT, device=gpu.DEVICE)

        def loaded(model):
            model.load_state_dict(self.module.ModelNew().state_dict())

        for change in (in_place, another, data, loaded):
            with self.subTest(change.__name__):
                self.setUp()
                self.right_after(change, [1, 1])

    def test_after_a_fused_optimizer_which_counts_nothing(self):
        def stepped(model):
            weight = model.conv1d_transpose.weight
            weight.grad = torch.rand(harness.WEIGHT, device=gpu.DEVICE)
            version = weight._version
            torch.optim.SGD([weight], lr=1, fused=True).step()
            self.assertEqual(weight._version, version, "else this test shows nothing")

        self.right_after(stepped, [1, 1])

    def stepped(self, *parameters):
        for p in parameters:
            p.grad = torch.rand(tuple(p.shape), device=gpu.DEVICE)
        torch.optim.SGD(parameters, lr=1, fused=True).step()

    def test_steps_of_an_optimizer_that_does_not_hold_a_frozen_weight(self):
        def freeze(model):
            model.conv1d_transpose.weight.requires_grad_(False)

        other = nn.Parameter(torch.rand((3,), device=gpu.DEVICE))
        self.right_after(lambda model: self.stepped(other), [1, 0], before=freeze)
        self.setUp()
        self.right_after(lambda model: self.stepped(other, model.conv1d_transpose.weight), [1, 1], before=freeze)

    def test_an_optimizer_that_holds_a_copy_of_the_weight(self):
        def stepped(model):
            weight = model.conv1d_transpose.weight
            master, version = nn.Parameter(weight.detach().clone()), weight._version
            self.stepped(master)
            weight.data.copy_(master.detach())
            self.assertEqual(weight._version, version, "else this test shows nothing")

        self.right_after(stepped, [1, 1])

    def test_data_that_is_set_twice_to_what_lies_in_the_same_place(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        self.gpu.finish()
        weight = model.conv1d_transpose.weight
        place = weight.data_ptr()
        for _ in range(2):  # the first gives the memory back, the second may get it
            weight.data = torch.rand(harness.WEIGHT, device=gpu.DEVICE)
        self.assertTrue(gpu.REAL or weight.data_ptr() != place, "it is held by who packed it")
        self.assert_right(self.run_without_gradient(model, x), model, x)

    def test_another_parameter_of_the_same_memory_and_version(self):
        def other(model):
            old = model.conv1d_transpose.weight
            new = nn.Parameter(old.data)  # which counts for itself
            with torch.no_grad():
                new.mul_(2)
            self.assertEqual((new._version, new.data_ptr()), (old._version, old.data_ptr()))
            model.conv1d_transpose.weight = new

        def written_once(model):
            with torch.no_grad():
                while model.conv1d_transpose.weight._version != 1:
                    model.conv1d_transpose.weight = nn.Parameter(torch.rand(harness.WEIGHT, device=gpu.DEVICE))
                    model.conv1d_transpose.weight.mul_(2)

        self.right_after(other, [1, 1], before=written_once)

    def test_repack_after_what_cannot_be_seen(self):
        def behind(model):
            model.conv1d_transpose.weight.data.mul_(2)
            model.repack()

        self.right_after(behind, [1, 1])

    def test_a_weight_that_is_computed_at_each_call(self):
        model = self.model()
        layer = model.conv1d_transpose
        layer.raw = nn.Parameter(layer.weight.detach().clone())
        del layer._parameters["weight"]
        layer.by = 1
        kept = self.gpu.keep if gpu.REAL else lambda t: t  # what is queued reads it; here it lies in the same place again

        layer.__class__ = type("Parametrised", (nn.ConvTranspose1d,), {"weight": property(lambda l: kept(l.raw * l.by))})
        places = set()
        for by in (1, 2, 3):
            layer.by, x = by, self.x()
            y = self.run_without_gradient(model, x)
            self.gpu.finish()
            places.add(self.gpu.calls()[-1].w)
            self.assert_right(y, model, x)
        self.assertTrue(gpu.REAL or len(places) == 1, "else this test shows little")
        self.assertEqual(self.packs(), [1, 1, 1])

    def test_what_is_computed_is_computed_once_a_call(self):
        reads = []

        def computed(name):
            def value(layer):
                reads.append(name)
                return self.gpu.keep(getattr(layer, "raw_" + name) * 2)
            return property(value)

        layer, x = self.layer(), self.x()
        for name in ("weight", "bias"):
            setattr(layer, "raw_" + name, nn.Parameter(getattr(layer, name).detach().clone()))
            del layer._parameters[name]
        layer.__class__ = type("Parametrised", (nn.ConvTranspose1d,), {n: computed(n) for n in ("weight", "bias")})
        model = self.module.ModelNew.from_layer(layer)
        self.assertEqual(reads, [], "no call")
        with torch.no_grad():
            y = model(x)
        self.assertEqual(sorted(reads), ["bias", "weight"])
        self.assert_right(y, model, x)
        reads.clear()
        model(x)  # with gradients, by another way
        self.assertEqual(sorted(reads), ["bias", "weight"])

    def test_a_weight_that_is_not_contiguous(self):
        model, x = self.model(), self.x()
        layer = model.conv1d_transpose
        layer.weight = nn.Parameter(torch.rand((3, 3, 4), device=gpu.DEVICE).transpose(0, 2))
        for _ in range(2):
            self.assert_right(self.run_without_gradient(model, x), model, x)
            with torch.no_grad():
                layer.weight.mul_(2)
        self.assertEqual(self.packs(), [1, 1])

    def test_a_weight_that_counts_no_versions(self):
        with torch.inference_mode():
            model = self.model()
            x = self.x()
            for _ in range(2):
                self.assert_right(model(x), model, x)
                model.conv1d_transpose.weight.mul_(2)
        self.assertEqual(self.packs(), [1, 1])


class Streams(ModuleTest):
    def test_each_has_memory_of_its_own(self):
        model = self.model()
        runs = []
        for stream in (Stream(1), Stream(2), Stream(3)) * 2:
            with torch.cuda.stream(stream):
                x = self.x()
                runs.append((self.run_without_gradient(model, x), x))
        for y, x in runs:  # all of them were queued, and run in turns
            self.assert_right(y, model, x)
        self.assertEqual(self.packs(), [1, 1, 1, 0, 0, 0])
        self.assertEqual(len({c.workspace for c in self.gpu.calls()}), 3)

    def test_the_memory_of_eight_is_kept(self):
        model, x = self.model(), self.x()
        for number in [*range(12), 4, 20, 4, 5]:  # 20 takes the place of 5, which was used before 4
            with torch.cuda.stream(Stream(number)):
                self.assert_right(self.run_without_gradient(model, x), model, x)
        self.assertEqual(self.packs(), [1] * 12 + [0, 1, 0, 1])
        self.assertEqual(len(self.module._STATES[model].of_streams), 8)

    def test_threads_do_not_mix_their_launches(self):
        model = self.model()
        self.run_without_gradient(model, self.x())
        self.gpu.number("fake_nap_us", 2000)
        runs = [[], []]

        for p in model.parameters():
            p.requires_grad_(False)

        def work(mine):
            for _ in range(5):
                x = self.x()
                mine.append((model(x), x))

        self.in_threads(*(lambda m=m: work(m) for m in runs))
        self.assertEqual(self.gpu.number("fake_overlaps"), 0)
        for y, x in runs[0] + runs[1]:
            self.assert_right(y, model, x)


class Captures(ModuleTest):
    def test_the_first_call_is_refused_and_marks_nothing(self):
        model, x = self.model(), self.x()
        with self.assertRaisesRegex(RuntimeError, "call the module once before capturing"):
            with torch.no_grad():
                self.gpu.capture(lambda: model(x))
        self.assertEqual(self.gpu.calls(), [])
        self.assert_right(self.run_without_gradient(model, x), model, x)

    def test_packs_within_the_graph(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        self.gpu.finish()
        with torch.no_grad():
            # On the very stream that has packed weights: the graph may be replayed on any.
            graph, y = self.gpu.capture(lambda: model(x), stream=self.gpu.stream)
        with torch.no_grad():
            model.conv1d_transpose.weight.mul_(2)
            x.copy_(torch.rand(harness.INPUT))
        self.gpu.replay(graph)
        self.assert_right(y, model, x)
        self.assertEqual(self.packs(), [1, 1])

    def test_a_graph_and_other_calls_do_not_meet(self):
        model, captured, other = self.model(), self.x(), self.x()
        self.run_without_gradient(model, captured)
        self.gpu.finish()
        with torch.no_grad():
            graph, y = self.gpu.capture(lambda: model(captured), stream=self.gpu.stream)
        with torch.cuda.stream(Stream(9)):
            self.gpu.replay(graph)
        z = self.run_without_gradient(model, other)
        self.assert_right(y, model, captured)
        self.assert_right(z, model, other)

    def test_a_capture_marks_nothing_as_packed(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        side = Stream(5)
        with torch.no_grad():
            self.gpu.capture(lambda: model(x), stream=side)
            with torch.cuda.stream(side):  # the graph was never replayed
                y = model(x)
        self.assert_right(y, model, x)

    def test_prepack_keeps_packing_out_of_the_graph(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        with torch.no_grad():
            (first, y), (second, z) = (self.gpu.capture(lambda: model(x)) for _ in range(2))
            others = [model(x) for _ in range(2)]
        # Once eagerly, once by prepack; the first graph takes that, and nothing is left for the second.
        self.assertEqual(self.packs(), [1, 2, 0, 1, 0, 0])
        self.assertNotIn(self.gpu.calls()[2].workspace, [self.gpu.calls()[i].workspace for i in (0, 3, 4, 5)])
        before = flat(model.conv1d_transpose.weight)
        self.gpu.finish()
        with torch.no_grad():
            model.conv1d_transpose.weight.mul_(2)
        self.gpu.replay(first), self.gpu.replay(second)
        self.assert_right(y, model, x, weight=before)  # of the moment of prepack()
        self.assert_right(z, model, x)
        for out in others:
            self.assert_right(out, model, x, weight=before)

    def test_prepack_for_several_calls(self):
        model, a, b = self.model(), self.x(), self.x()
        self.run_without_gradient(model, a)
        model.prepack(calls=2)
        with torch.no_grad():
            graph, (y, z) = self.gpu.capture(lambda: (model(a), model(b)))
        self.assertEqual(self.packs(), [1, 2, 2, 0, 0])
        with torch.cuda.stream(Stream(40)):  # which waits for nothing
            self.gpu.replay(graph)
        self.assert_right(y, model, a)
        self.assert_right(z, model, b)

    def test_calls_in_a_row_in_one_capture_share_what_is_packed(self):
        model, inputs = self.model(), [self.x() for _ in range(3)]
        self.run_without_gradient(model, inputs[0])
        model.prepack()
        with torch.no_grad():
            graph, outputs = self.gpu.capture(lambda: [model(x) for x in inputs])
            other, z = self.gpu.capture(lambda: model(inputs[0]))  # nothing is left for it
        self.assertEqual(self.packs(), [1, 2, 0, 0, 0, 1])
        workspaces = [c.workspace for c in self.gpu.calls()[2:]]
        self.assertEqual(len(set(workspaces[:3])), 1)
        self.assertNotEqual(workspaces[3], workspaces[0])
        self.gpu.replay(graph), self.gpu.replay(other)
        for x, y in zip(inputs, outputs):
            self.assert_right(y, model, x)
        self.assert_right(z, model, inputs[0])

    def test_streams_of_one_capture_share_nothing(self):
        model, a, b = self.model(), self.x(), self.x()
        self.run_without_gradient(model, a)
        model.prepack(calls=2)

        with torch.no_grad():
            self.gpu.capture(lambda: (model(a), self.gpu.join(lambda: model(b), Stream(61))))
        self.assertEqual(self.packs(), [1, 2, 2, 0, 0])
        self.assertNotEqual(*[c.workspace for c in self.gpu.calls()[-2:]])

    def test_a_weight_that_changes_within_a_capture_is_packed_again(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()

        def changing():
            y = model(x)
            model.conv1d_transpose.weight.mul_(2)
            return y, model(x)

        with torch.no_grad():
            self.gpu.capture(changing)
        self.assertEqual(self.packs(), [1, 2, 0, 1])
        self.assertNotEqual(*[c.workspace for c in self.gpu.calls()[-2:]])

    def test_what_captures_took_is_kept_until_it_is_released(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        with torch.no_grad():
            graph, y = self.gpu.capture(lambda: model(x))
        taken, = self.module._STATES[model].captured
        self.assertIsNone(taken.packed, "it holds the memory of the weight")
        taken = weakref.ref(taken)
        model.repack()
        model.to(gpu.DEVICE)
        self.assertIsNotNone(taken())
        self.gpu.replay(graph)
        self.assert_right(y, model, x)
        model.release_captured()
        self.assertIsNone(taken())

    @unittest.skipIf(gpu.REAL, "PyTorch's memory is not seen from here")
    def test_a_graph_keeps_no_weight(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        with torch.no_grad():
            self.gpu.capture(lambda: model(x))
        model.repack()
        weight = model.conv1d_transpose.weight
        old, memory = weakref.ref(weight), weakref.ref(weight._block)
        model.conv1d_transpose.weight = nn.Parameter(torch.rand(harness.WEIGHT, device=gpu.DEVICE))
        del weight
        self.assertEqual((old(), memory()), (None, None))

    def test_what_was_prepacked_of_another_weight_is_not_taken(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        model.prepack()
        with torch.no_grad():
            model.conv1d_transpose.weight.mul_(2)
            graph, y = self.gpu.capture(lambda: model(x))
        self.assertEqual(self.packs(), [1, 2, 1])
        self.gpu.replay(graph)
        self.assert_right(y, model, x)

    def test_prepack_refuses(self):
        model, x = self.model(), self.x()
        self.run_without_gradient(model, x)
        with self.assertRaisesRegex(RuntimeError, "prepack.. within a capture"):
            self.gpu.capture(model.prepack)
        model.conv1d_transpose.weight = nn.Parameter(torch.rand((3, 3, 4), device=gpu.DEVICE).transpose(0, 2))
        with self.assertRaisesRegex(RuntimeError, "packed at each call"):
            model.prepack()


class WithoutPacking(ModuleTest):
    kernel = "direct"

    def test_streams_and_captures(self):
        model, a, b = self.model(), self.x(), self.x()
        self.assertFalse(self.module.PACKS)
        y = self.run_without_gradient(model, a)
        with torch.cuda.stream(Stream(1)):
            z = self.run_without_gradient(model, b)
        self.assert_right(y, model, a)
        self.assert_right(z, model, b)
        model.prepack()
        with torch.no_grad():
            graph, y = self.gpu.capture(lambda: model(a))
        self.gpu.replay(graph)
        self.assert_right(y, model, a)
        self.assertEqual(len(self.gpu.calls()), 3, "prepack has nothing to do")


if __name__ == "__main__":
    harness.main()
