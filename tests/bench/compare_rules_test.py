#!/usr/bin/env python3
"""compare_rules.py: what is wrong is named, and a ratio is against PyTorch's fastest way."""
import math
import unittest

from compare_rules import bound, fastest, faults, times_faster


def row(**changed):
    made = dict(preset="dac.d1", accuracy="tf32", bias=False, kernel="stream_tf32", same_weights=True, cold_ms=[0.1, 0.4],
                hot_ms=[0.1, 0.3], errors=[3e-4, 3e-4], variants={})
    return {**made, **changed}


class Errors(unittest.TestCase):
    def test_what_was_measured_is_right(self):
        for accuracy, ours, theirs in [("tf32", 4.3e-4, 4.1e-4), ("3xtf32", 7.7e-7, 9.2e-7), ("strict", 3.2e-7, 1.1e-6),
                                       ("f16", 4.5e-4, 4.9e-4), ("bf16", 3.7e-3, 3.7e-3)]:
            self.assertEqual(faults(row(accuracy=accuracy, errors=[ours, theirs])), [], accuracy)

    def test_less_accurate_arithmetic_is_named(self):
        # TF32 passed off as f32, f16 as TF32's better, bfloat16 as f16.
        for accuracy, ours, theirs in [("3xtf32", 3e-4, 9e-7), ("strict", 3e-4, 9e-7), ("tf32", 3.7e-3, 4e-4),
                                       ("f16", 3.7e-3, 4e-4), ("bf16", 8e-3, 3.7e-3)]:
            said = faults(row(accuracy=accuracy, errors=[ours, theirs], bias=True))
            self.assertEqual(len(said), 1, accuracy)
            self.assertIn(f"dac.d1 {accuracy} bias stream_tf32: largest error", said[0])

    def test_no_number_is_right(self):
        for bad in (math.nan, math.inf):
            for accuracy in ("tf32", "3xtf32", "f16"):
                self.assertEqual(len(faults(row(accuracy=accuracy, errors=[bad, 1e-6]))), 1)

    def test_f32_is_held_against_pytorch(self):
        self.assertEqual(bound("3xtf32", 1e-6), 4e-6)
        self.assertEqual(bound("strict", 0), 2**-20)  # exact sums on its side are no reproach on ours
        self.assertEqual(faults(row(accuracy="3xtf32", errors=[3.9e-6, 1e-6])), [])
        self.assertEqual(len(faults(row(accuracy="3xtf32", errors=[4.1e-6, 1e-6]))), 1)

    def test_other_weights_are_named(self):
        self.assertEqual(faults(row(same_weights=False)), ["dac.d1 tf32 stream_tf32: not the weights of PyTorch's layer"])


class Fastest(unittest.TestCase):
    def test_is_the_layer_itself_without_variants(self):
        self.assertEqual(fastest(row(), "cold_ms"), ("as it is", 0.4))
        self.assertAlmostEqual(times_faster(row(), "hot_ms"), 3)

    def test_is_a_variant_that_agrees(self):
        ways = {"torch.compile": dict(cold_ms=0.35, hot_ms=0.31, same=True),
                "channels_last": dict(cold_ms=0.2, hot_ms=0.2, same=False),
                "other": dict(trouble="RuntimeError: no")}
        self.assertEqual(fastest(row(variants=ways), "cold_ms"), ("torch.compile", 0.35))
        self.assertEqual(fastest(row(variants=ways), "hot_ms"), ("as it is", 0.3))
        ways["channels_last"]["same"] = True
        self.assertAlmostEqual(times_faster(row(variants=ways), "cold_ms"), 2)


if __name__ == "__main__":
    unittest.main()
