#!/usr/bin/env python3
"""operands.py sees a write to a register that a product still reads, and none where there is none."""
import unittest

from operands import faults, products_in

HEAD = """
		Function : products
        /*0000*/                   LDS R8, [R4] ;                     /* 0x0 */
        /*0010*/                   HGMMA.64x64x16.F32 R24, R8, gdesc[UR4], R24 ;
        /*0020*/                   HGMMA.64x64x16.F32 R24, R12, gdesc[UR8], R24, gsb0 ;
"""
TAIL = """
        /*0100*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0110*/                   F2FP.F16.F32.PACK_AB R8, R2, R3 ;
        /*0120*/                   FADD R24, R24, R25 ;
"""


class Operands(unittest.TestCase):
    def said(self, *between):
        return faults(HEAD + "\n".join(f"        /*0030*/                   {line} ;" for line in between) + TAIL)

    def test_products_are_counted(self):
        self.assertEqual(products_in(HEAD), 2)

    def test_other_registers_may_be_written(self):
        self.assertEqual(self.said("LDS.128 R16, [R4]", "FMUL R20, R8, R12", "ISETP.NE.AND P0, PT, R8, RZ, PT"), [])

    def test_operands_may_be_read(self):
        self.assertEqual(self.said("STS [R8], R12", "STG.E.128 desc[UR4][R8.64], R12"), [])

    def test_a_write_before_the_wait_is_named(self):
        for line, register in (("F2FP.F16.F32.PACK_AB R13, R2, R3", 13), ("IMAD.MOV.U32 R8, RZ, RZ, R2", 8),
                               ("@!P0 LDC R11, c[0x0][0x27c]", 11)):
            said = self.said(line)
            self.assertEqual(len(said), 1, line)
            self.assertEqual(said[0][:2], ("products", "0030"))
            self.assertTrue(said[0][2].endswith(f"writes R{register}"), said)

    def test_wide_loads_write_several(self):
        self.assertEqual([what for _, _, what in self.said("LDS.64 R14, [R4]")],
                         ["LDS.64 writes R14", "LDS.64 writes R15"])

    def test_a_group_that_may_still_run_counts(self):
        second = "        /*0040*/                   HGMMA.64x64x16.F32 R24, R16, gdesc[UR4], R24, gsb0 ;\n"
        wait = "        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;\n"
        write = "        /*0060*/                   FMUL R{}, R2, R3 ;\n"
        self.assertEqual(faults(HEAD + second + wait + write.format(8) + TAIL), [])
        self.assertEqual(len(faults(HEAD + second + wait + write.format(17) + TAIL)), 1)


if __name__ == "__main__":
    unittest.main()
