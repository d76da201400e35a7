#!/usr/bin/env python3
"""Load requests and sectors of tiled, polyphase, registers and columns_tf32 in two orders of their loops' rounds: loop_order.py

A second count, from the formulas of the kernels and not from a run. nvcc unrolls a loop by four (columns_tf32's copies
by two, as its source says) and puts the rounds that are left over before the others, so threads of a warp that do one
round more are a round behind the others from then on; in the order of the source they are not. The first number of each pair is what the emulator must count
(CONVSCOPE_COUNT_ALL=1), the second what a GPU does: results/h200-emulated.md has both.
"""
from math import gcd

X, WEIGHTS, PACKED = 0, 1 << 34, 1 << 36  # where tensors begin: aligned, far from each other


class Problem:
    def __init__(self, name, batch, cin, cout, taps, length, stride=1, padding=0, output_padding=0, dilation=1, groups=1, bias=False):
        self.name, self.n, self.ci, self.co, self.k, self.l = name, batch, cin, cout, taps, length
        self.s, self.p, self.groups, self.bias, self.d = stride, padding, groups, bias, dilation
        self.out = (length - 1) * stride - 2 * padding + dilation * (taps - 1) + output_padding + 1
        self.gcd = gcd(stride, dilation)
        self.period, self.back = stride // self.gcd, dilation // self.gcd
        self.inverse = next(i for i in range(self.period) if i * self.back % self.period == 1 % self.period)
        self.gin, self.gout = cin // groups, cout // groups

    def first_tap(self, offset):
        r = (offset + self.p) % self.s
        return r // self.gcd * self.inverse % self.period if r % self.gcd == 0 else self.k

    def taps_from(self, k0):
        return (self.k - 1 - k0) // self.period + 1 if k0 < self.k else 0


def requests(lanes, left_over_first, by):
    """What a warp's loop asks for: lists of addresses. lanes: of each thread its rounds, None where it asks nothing."""
    if left_over_first:
        of_round = [[t[i] for t in lanes if len(t) % by > i] for i in range(by - 1)]
        for i in range(max(len(t) // by for t in lanes) * by):
            of_round.append([t[len(t) % by + i] for t in lanes if len(t) // by * by > i])
    else:
        of_round = [[t[i] for t in lanes if len(t) > i] for i in range(max(map(len, lanes)))]
    return [r for r in ([a for a in r if a is not None] for r in of_round) if r]


class Count:
    def __init__(self, left_over_first):
        self.first, self.requests, self.sectors = left_over_first, 0, 0

    def loop(self, lanes, size=4, unrolled=True, by=4, times=1):
        for r in requests(lanes, self.first and unrolled, by) if lanes else []:
            self.requests += times
            self.sectors += times * len({a // 32 for a in r} | {(a + size - 1) // 32 for a in r})


def tiled(q, count):
    round_taps = min(-(-q.k // q.period), 32, 1 + 256 // q.back)
    for n, group, co0 in [(n, g, c) for n in range(q.n) for g in range(q.groups) for c in range(0, q.gout, 8)]:
        for m0, offset in [(m, o) for m in range(0, -(-q.out // q.s), 256) for o in range(min(q.s, q.out))]:
            k0 = q.first_tap(offset)
            taps, base = q.taps_from(k0), (offset + q.p - k0 * q.d) // q.s
            if q.bias:  # eight numbers, the same for all threads
                count.requests, count.sectors = count.requests + 64, count.sectors + 64
            for u0 in range(0, taps, round_taps):
                now = min(round_taps, taps - u0)
                width, left = 256 + (now - 1) * (q.back if now > 1 else 0), m0 + base - (u0 + now - 1) * q.back
                for c0 in range(0, q.gin, 8):
                    channels = min(8, q.gin - c0)
                    row = n * q.ci + group * q.gin + c0

                    def x_at(e):
                        i = left + e % width
                        return X + 4 * ((row + e // width) * q.l + i) if 0 <= i < q.l else None

                    def w_at(e):
                        co, ci = co0 + e % 8, group * q.gin + c0 + e // (now * 8)
                        return WEIGHTS + 4 * ((ci * q.gout + co) * q.k + k0 + (u0 + e // 8 % now) * q.period) if co < q.gout else None

                    for warp in range(0, 256, 32):
                        threads = range(warp, warp + 32)
                        count.loop([[x_at(e) for e in range(t, channels * width, 256)] for t in threads])
                        count.loop([[w_at(e) for e in range(t, channels * now * 8, 256)] for t in threads])


def polyphase(q, count):
    outputs = q.n * q.co * q.out
    for begin in range(0, outputs, 32):
        threads = []
        ids = range(begin, min(begin + 32, outputs))
        if q.bias:
            count.loop([[id // q.out % q.co * 4] for id in ids], unrolled=False)
        for id in ids:
            j, co, n = id % q.out, id // q.out % q.co, id // (q.out * q.co)
            k0 = q.first_tap(j % q.s)
            start = j + q.p - k0 * q.d
            if start < 0 or k0 >= q.k:
                continue
            i0 = start // q.s
            low = 0 if i0 < q.l else (i0 - q.l) // q.back + 1
            taps = range(low, min(i0 // q.back, (q.k - 1 - k0) // q.period) + 1)
            threads.append((n * q.ci, co // q.gout * q.gin, co % q.gout, k0, i0, taps))
        for c in range(q.gin):
            count.loop([[X + 4 * ((row + first + c) * q.l + i0 - m * q.back) for m in taps] for row, first, _, _, i0, taps in threads])
            count.loop([[WEIGHTS + 4 * (((first + c) * q.gout + co) * q.k + k0 + m * q.period) for m in taps]
                        for _, first, co, k0, _, taps in threads])


def registers(q, count):
    warps = 1 if q.gout <= 16 else 2 if q.gout <= 32 else 4  # along channels
    channels, width = 16 * warps, 4 // warps * 256
    outs, round_taps = -(-q.gout // channels), min(-(-q.k // q.period), 16, 1 + 256 // q.back)
    pitch = -(-(width + (round_taps - 1) * q.back + 3) // 4) * 4
    round_in = max(1, min(65536 // 3 // (4 * (pitch + round_taps * channels)), q.gin, 8))
    words = q.groups * outs * q.gin * q.k * channels

    def weight_at(id):
        rest, channel = id // channels, id % channels
        k, ci = rest % q.k, rest // q.k % q.gin
        rest //= q.k * q.gin
        co = rest % outs * channels + channel
        return WEIGHTS + 4 * (((rest // outs * q.gin + ci) * q.gout + co) * q.k + k) if co < q.gout else None

    for begin in range(0, words, 32):
        count.loop([[weight_at(id)] for id in range(begin, min(begin + 32, words))], unrolled=False)
    items = [(n, g, m0, o, offset) for n in range(q.n) for g in range(q.groups) for m0 in range(0, -(-q.out // q.s), width)
             for o in range(outs) for offset in range(min(q.s, q.out))]
    for n, group, m0, tile, offset in items:
        k0 = q.first_tap(offset)
        taps, base = q.taps_from(k0), (offset + q.p - k0 * q.d) // q.s
        if q.bias:  # sixteen numbers, the same for all threads of a warp
            count.requests, count.sectors = count.requests + 64, count.sectors + 64
        for u0 in range(0, taps, round_taps):
            now = min(round_taps, taps - u0)
            left = m0 + base - (u0 + now - 1) * q.back
            left -= left & 3
            for c0 in range(0, q.gin, round_in):
                rows = min(round_in, q.gin - c0)
                for warp in range(4):
                    for ci in range(warp, rows, 4):
                        at = (n * q.ci + group * q.gin + c0 + ci) * q.l + left
                        count.loop([[X + 4 * (at + o) if 0 <= left + o < q.l else None for o in range(lane * 4, pitch, 128)]
                                    for lane in range(32)], 16)
                    pieces, threads = channels // 4, range(warp * 32, warp * 32 + 32)
                    first = ((group * outs + tile) * q.gin + c0) * q.k + k0
                    count.loop([[PACKED + 4 * ((first + r // now * q.k + (u0 + r % now) * q.period) * channels + t % pieces * 4)
                                 for r in range(t // pieces, rows * now, 128 // pieces)] for t in threads], 16, unrolled=False)


def columns(q, count):
    """columns_tf32 in the form of 64 columns × 256 positions (columns_64x256_near), where two shifts are all there are
    and rows are whole pieces of 16 bytes."""
    shifts, tile, halo = (q.k - 1) * q.back // q.period + 1, 256, 4
    assert shifts == 2 and q.back == 1 and q.l % 4 == 0 and q.gin % 8 == 0 and q.groups == 1 and q.p < q.s
    column_tiles, blocks = -(-q.gout * q.period // 64), q.gin // 8
    words = column_tiles * blocks * shifts * 512

    def weight_at(id):
        e, rest = id % 512, id // 512
        i, lane, u, rest = e % 4, e // 4 % 32, rest % shifts, rest // shifts
        ci, tile_of = rest % blocks * 8 + lane % 4 + i % 2 * 4, rest // blocks
        column = tile_of * 64 + e // 128 * 16 + i // 2 * 8 + lane // 4
        co, tap = column // q.period, u * q.period + column % q.period
        return WEIGHTS + 4 * ((ci * q.gout + co) * q.k + tap) if co < q.gout and tap < q.k else None

    for begin in range(0, words, 32):
        count.loop([[weight_at(id)] for id in range(begin, begin + 32)], unrolled=False)
    box = tile + halo
    for n in range(q.n):
        for m0 in range(0, (q.out - 1 + q.p) // q.s + 1, tile):
            left = m0 - halo
            for ci in range(q.ci):  # a row is copied by one warp, once for each tile of columns
                row = (n * q.ci + ci) * q.l
                count.loop([[X + 4 * (row + left + o) if 0 <= left + o < q.l else None for o in range(lane * 4, box, 128)]
                            for lane in range(32)], 16, by=2, times=column_tiles)
            # packed weights: whole warps, whole rounds
            requests = column_tiles * blocks * shifts * 512 // 128
            count.requests, count.sectors = count.requests + requests, count.sectors + 16 * requests


PROBLEMS = [
    Problem("kernelbench-64-small", 1, 128, 128, 3, 256),
    Problem("kernelbench-74-small", 1, 32, 64, 5, 2048, dilation=3),
    Problem("kernelbench-79-small", 1, 32, 64, 3, 4096, stride=2, padding=1, dilation=2),
    Problem("2 × 16→16, K 4, L 1000, s 2, p 1, d 3", 2, 16, 16, 4, 1000, stride=2, padding=1, dilation=3),
    Problem("2 × 32→64, K 5, L 512, s 3, p 2, op 1, g 4", 2, 32, 64, 5, 512, stride=3, padding=2, output_padding=1, groups=4, bias=True),
]

print("| kernel | problem | requests | left over first | sectors | left over first |")
print("|---|---|---|---|---|---|")
LAYERS = [
    Problem("hifigan.u2", 1, 256, 128, 16, 6400, stride=8, padding=4),
    Problem("encodec.d3", 1, 128, 64, 8, 30000, stride=4),
]
for kernel, problems in ((registers, PROBLEMS), (tiled, PROBLEMS), (polyphase, PROBLEMS), (columns, LAYERS)):
    for q in problems:
        source, gpu = Count(False), Count(True)
        kernel(q, source), kernel(q, gpu)
        print(f"| {kernel.__name__} | {q.name} | {source.requests:,} | {gpu.requests:,} | {source.sectors:,} | {gpu.sectors:,} |", flush=True)
