#!/usr/bin/env python3
"""spills.py sees a kernel that spills more than it did, and one that began to."""
import os
import subprocess
import sys
import tempfile
import unittest

from spills import faults, limits_text, read_limits, spills_in

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'products' for 'sm_90a'
ptxas info    : Function properties for products
    72 bytes stack frame, 124 bytes spill stores, 120 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 72 bytes cumulative stack size
ptxas info    : Function properties for helper
    8 bytes stack frame, 999 bytes spill stores, 999 bytes spill loads
ptxas info    : Compiling entry function 'pack' for 'sm_80'
ptxas info    : Function properties for pack
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
"""
AS_IT_IS = {("sm_90a", "products"): (124, 120)}


class Spills(unittest.TestCase):
    def test_are_read_of_kernels_alone(self):
        self.assertEqual(spills_in(LOG), {("sm_90a", "products"): (124, 120), ("sm_80", "pack"): (0, 0)})

    def test_as_they_were_are_right(self):
        self.assertEqual(faults(spills_in(LOG), AS_IT_IS), [])

    def test_more_is_named(self):
        for more in (LOG.replace("124 bytes spill", "128 bytes spill"), LOG.replace("120 bytes spill", "124 bytes spill")):
            said = faults(spills_in(more), AS_IT_IS)
            self.assertEqual(len(said), 1)
            self.assertIn("products for sm_90a spills", said[0])
            self.assertIn("it was 124 and 120", said[0])

    def test_who_begins_is_named(self):
        said = faults(spills_in(LOG.replace("0 bytes spill stores, 0 bytes spill loads", "4 bytes spill stores, 4 bytes spill loads")),
                      AS_IT_IS)
        self.assertEqual(said, ["pack for sm_80 spills 4 bytes of stores and 4 of loads, it was 0 and 0"])

    def test_limits_follow(self):
        self.assertIn("lower its limit", faults(spills_in(LOG), {("sm_90a", "products"): (200, 200)})[0])
        gone = faults(spills_in(LOG), {**AS_IT_IS, ("sm_80", "gone"): (4, 4), ("sm_75", "elsewhere"): (4, 4)})
        self.assertEqual(gone, ["gone for sm_80 has a limit and is not in the logs"])

    def test_limits_are_read_as_written(self):
        self.assertEqual(read_limits(limits_text("13.0.88", spills_in(LOG))), ("13.0.88", AS_IT_IS))


class Program(unittest.TestCase):
    def run_on(self, log, limits, *more, quick=None):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a.fatbin.log", log), ("b.fatbin.quick", quick), ("limits.txt", limits)):
                if text is not None:
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                        f.write(text)
            program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spills.py")
            done = subprocess.run([sys.executable, "-B", program, folder, os.path.join(folder, "limits.txt"), *more],
                                  capture_output=True, text=True)
            with open(os.path.join(folder, "limits.txt"), encoding="utf-8") as f:
                return done.returncode, done.stdout + done.stderr, f.read()

    def test_its_exit_codes(self):
        limits = limits_text("13.0.88", AS_IT_IS)
        self.assertEqual(self.run_on(LOG, limits, "--nvcc", "13.0.88")[0], 0)
        code, said, _ = self.run_on(LOG, limits_text("13.0.88", {}), "--nvcc", "13.0.88")
        self.assertEqual(code, 1)
        self.assertIn("products for sm_90a spills 124", said)
        self.assertEqual(self.run_on(LOG, limits, "--nvcc", "13.1.1")[0], 77)
        self.assertEqual(self.run_on(None, limits)[0], 1)  # no logs are no proof
        more = limits_text("13.0.88", {**AS_IT_IS, ("sm_90a", "elsewhere"): (8, 8)})
        self.assertEqual(self.run_on(LOG, more, "--nvcc", "13.0.88")[0], 1)
        self.assertEqual(self.run_on(LOG, more, "--nvcc", "13.0.88", quick="")[0], 0)  # it may be of one of these
        self.assertEqual(self.run_on(LOG, limits_text("13.0.88", {}), "--nvcc", "13.0.88", quick="")[0], 1)
        self.assertEqual(self.run_on("nothing", limits)[0], 1)

    def test_it_writes_limits(self):
        before = limits_text("13.0.88", {("sm_90a", "products"): (4, 4), ("sm_75", "elsewhere"): (8, 8)})
        _, _, after = self.run_on(LOG, before, "--write", "--nvcc", "13.0.89")
        self.assertEqual(read_limits(after), ("13.0.89", {**AS_IT_IS, ("sm_75", "elsewhere"): (8, 8)}))


if __name__ == "__main__":
    unittest.main()
