// Hopper's products on the tensor cores (wgmma), for the GPU and the emulator alike. The only place with inline PTX for
// them.
//
// The 128 threads of a warpgroup multiply 64 rows of A, which are in registers or in shared memory, with 64 to 160
// columns of B in shared memory, described by a 64-bit matrix descriptor; sums stay in registers, in f32. Products are
// ordered, closed as a group, and waited for; until then neither sums nor operands may be touched:
//   products_begin(); product(d, a, b, add); …; products_commit(); products_wait<groups that may still be on their
//   way>()
// A lane (g, t) = (lane / 4, lane % 4) of warp w holds of its warp's 16 rows
//   TF32 (k8)     a[0..3]: A[g][t], A[g + 8][t], A[g][t + 4], A[g + 8][t + 4]
//   16 bits (k16) the same of pairs of neighbouring columns 2t, 2t + 1 and 2t + 8, 2t + 9, the first in the low half
//   sums          d[4j + 0..3]: D[g][8j + 2t], D[g][8j + 2t + 1], D[g + 8][8j + 2t], D[g + 8][8j + 2t + 1]
// The emulator multiplies at the last moment, when a warpgroup waits: what was overwritten too early in shared memory,
// or read too early of the sums, shows. (What A was when a product was ordered it keeps.) Source: PTX ISA 9.0,
// "Asynchronous warpgroup level matrix instructions", fragments and "Matrix-descriptor".
#pragma once
#include "convscope/hopper.h"

#if defined(CONVSCOPE_HAS_HOPPER)

#ifndef __CUDACC__
namespace convscope::simt {
enum class Operand : uint8_t { tf32, f16, bf16 };
struct Wgmma {
  Operand type;
  bool add;     // else the sums are overwritten
  int columns;  // 64, 80, 96, 128 or 160
  uint32_t a[4];
  float* d;
  uint64_t b;
  uint64_t from = 0;  // A's descriptor, 0: it is in registers
  bool operator==(const Wgmma&) const = default;
};
CONVSCOPE_SIMT_API void wgmma_fence();
CONVSCOPE_SIMT_API void wgmma(const Wgmma& product, const Site& at);
CONVSCOPE_SIMT_API void wgmma_commit(const Site& at);
CONVSCOPE_SIMT_API void wgmma_wait(int pending, const Site& at);
}  // namespace convscope::simt
#define CONVSCOPE_EMULATED_PRODUCT(operand, add, columns) \
  convscope::simt::wgmma({convscope::simt::Operand::operand, add, columns, {a[0], a[1], a[2], a[3]}, d, b}, at)
#endif

CONVSCOPE_HOPPER_CALL void products_begin() {
#if defined(__CUDACC__)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
  convscope::simt::wgmma_fence();
#endif
}
#if defined(__CUDACC__)
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#else
CONVSCOPE_UNTRACED inline void products_commit(const convscope::simt::Site& at = convscope::simt::Site::current()) {
  convscope::simt::wgmma_commit(at);
}
#endif
template <int pending>
#if defined(__CUDACC__)
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
#else
CONVSCOPE_UNTRACED inline void products_wait(const convscope::simt::Site& at = convscope::simt::Site::current()) {
  convscope::simt::wgmma_wait(pending, at);
}
#endif

// Lists of operands for asm statements: 8 to 80 sums from d[i] on, and their names.
#if defined(__CUDACC__)
#define CONVSCOPE_SUMS_8(d, i)                                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define CONVSCOPE_SUMS_32(d, i) \
  CONVSCOPE_SUMS_8(d, i), CONVSCOPE_SUMS_8(d, i + 8), CONVSCOPE_SUMS_8(d, i + 16), CONVSCOPE_SUMS_8(d, i + 24)
#define CONVSCOPE_SUMS_64(d, i) CONVSCOPE_SUMS_32(d, i), CONVSCOPE_SUMS_32(d, i + 32)
#define CONVSCOPE_NAMES_32                                                                                         \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define CONVSCOPE_NAMES_64                                                                                      \
  CONVSCOPE_NAMES_32                                                                                            \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define CONVSCOPE_SUMS_16(d, i) CONVSCOPE_SUMS_8(d, i), CONVSCOPE_SUMS_8(d, i + 8)
#define CONVSCOPE_NAMES_40 CONVSCOPE_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define CONVSCOPE_NAMES_48 \
  CONVSCOPE_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define CONVSCOPE_NAMES_80 \
  CONVSCOPE_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define CONVSCOPE_FACTORS "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
#endif

// d += A · B in TF32, for 64 rows, 8 k values and twice as many columns as d has, k as neighbours in shared memory; add
// 0: d is overwritten.
#if defined(__CUDACC__)
// shape: k and types; factors: of A; matrix: B's descriptor; added: whether to add; signs: what else it says. Then the
// sums.
#define CONVSCOPE_PRODUCT(columns, shape, names, factors, matrix, added, signs, ...)                             \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " added ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns shape \
               " {" names "}, {" factors "}, " matrix ", p, " signs ";\n}\n"                                     \
               : __VA_ARGS__                                                                                     \
               : CONVSCOPE_FACTORS, "r"(add))
#define CONVSCOPE_PRODUCT_OF(sums, shape, signs)                                                   \
  if constexpr (sums == 32)                                                                        \
    CONVSCOPE_PRODUCT("64", shape, CONVSCOPE_NAMES_32, "%32, %33, %34, %35", "%36", "%37", signs,  \
                      CONVSCOPE_SUMS_32(d, 0));                                                    \
  else if constexpr (sums == 48)                                                                   \
    CONVSCOPE_PRODUCT("96", shape, CONVSCOPE_NAMES_48, "%48, %49, %50, %51", "%52", "%53", signs,  \
                      CONVSCOPE_SUMS_32(d, 0), CONVSCOPE_SUMS_16(d, 32));                          \
  else if constexpr (sums == 64)                                                                   \
    CONVSCOPE_PRODUCT("128", shape, CONVSCOPE_NAMES_64, "%64, %65, %66, %67", "%68", "%69", signs, \
                      CONVSCOPE_SUMS_64(d, 0));                                                    \
  else                                                                                             \
    CONVSCOPE_PRODUCT("160", shape, CONVSCOPE_NAMES_80, "%80, %81, %82, %83", "%84", "%85", signs, \
                      CONVSCOPE_SUMS_64(d, 0), CONVSCOPE_SUMS_16(d, 64))
#endif
template <int sums>
CONVSCOPE_HOPPER_CALL void product(float (&d)[sums], const uint32_t (&a)[4], uint64_t b, int add CONVSCOPE_AT) {
  static_assert(sums == 32 || sums == 48 || sums == 64 || sums == 80, "the shapes that are here");
#if defined(__CUDACC__)
  CONVSCOPE_PRODUCT_OF(sums, "k8.f32.tf32.tf32", "1, 1");
#else
  CONVSCOPE_EMULATED_PRODUCT(tf32, add != 0, 2 * sums);
#endif
}
// The same of f16, 16 k values.
template <int sums>
CONVSCOPE_HOPPER_CALL void product_f16(float (&d)[sums], const uint32_t (&a)[4], uint64_t b, int add CONVSCOPE_AT) {
  static_assert(sums == 32 || sums == 48 || sums == 64 || sums == 80, "the shapes that are here");
#if defined(__CUDACC__)
  CONVSCOPE_PRODUCT_OF(sums, "k16.f32.f16.f16", "1, 1, 0");
#else
  CONVSCOPE_EMULATED_PRODUCT(f16, add != 0, 2 * sums);
#endif
}

// The same of f16 or bf16, 16 k values. add: "1", or "0": d is overwritten. k values are neighbours in
// shared memory.
#if defined(__CUDACC__)
#define CONVSCOPE_PRODUCT_64(type)                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {" CONVSCOPE_NAMES_32 \
               "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"                                         \
               : CONVSCOPE_SUMS_32(d, 0)                                                           \
               : CONVSCOPE_FACTORS)
#define CONVSCOPE_PRODUCT_128(type, add)                                                            \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" CONVSCOPE_NAMES_64 \
               "}, {%64, %65, %66, %67}, %68, " add ", 1, 1, 0;"                                    \
               : CONVSCOPE_SUMS_64(d, 0)                                                            \
               : CONVSCOPE_FACTORS)
#define CONVSCOPE_PRODUCT_96(type)                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n96k16.f32." type "." type " {" CONVSCOPE_NAMES_48 \
               "}, {%48, %49, %50, %51}, %52, 1, 1, 1, 0;"                                         \
               : CONVSCOPE_SUMS_32(d, 0), CONVSCOPE_SUMS_16(d, 32)                                 \
               : CONVSCOPE_FACTORS)
#define CONVSCOPE_PRODUCT_160(type)                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n160k16.f32." type "." type " {" CONVSCOPE_NAMES_80 \
               "}, {%80, %81, %82, %83}, %84, 1, 1, 1, 0;"                                          \
               : CONVSCOPE_SUMS_64(d, 0), CONVSCOPE_SUMS_16(d, 64)                                  \
               : CONVSCOPE_FACTORS)
#endif
template <bool bf16>
CONVSCOPE_HOPPER_CALL void product_16(float (&d)[32], const uint32_t (&a)[4], uint64_t b CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (bf16)
    CONVSCOPE_PRODUCT_64("bf16");
  else
    CONVSCOPE_PRODUCT_64("f16");
#else
  if constexpr (bf16)
    CONVSCOPE_EMULATED_PRODUCT(bf16, true, 64);
  else
    CONVSCOPE_EMULATED_PRODUCT(f16, true, 64);
#endif
}
template <bool bf16>
CONVSCOPE_HOPPER_CALL void product_16(float (&d)[64], const uint32_t (&a)[4], uint64_t b CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (bf16)
    CONVSCOPE_PRODUCT_128("bf16", "1");
  else
    CONVSCOPE_PRODUCT_128("f16", "1");
#else
  if constexpr (bf16)
    CONVSCOPE_EMULATED_PRODUCT(bf16, true, 128);
  else
    CONVSCOPE_EMULATED_PRODUCT(f16, true, 128);
#endif
}
template <bool bf16>
CONVSCOPE_HOPPER_CALL void product_16(float (&d)[48], const uint32_t (&a)[4], uint64_t b CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (bf16)
    CONVSCOPE_PRODUCT_96("bf16");
  else
    CONVSCOPE_PRODUCT_96("f16");
#else
  if constexpr (bf16)
    CONVSCOPE_EMULATED_PRODUCT(bf16, true, 96);
  else
    CONVSCOPE_EMULATED_PRODUCT(f16, true, 96);
#endif
}
template <bool bf16>
CONVSCOPE_HOPPER_CALL void product_16(float (&d)[80], const uint32_t (&a)[4], uint64_t b CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (bf16)
    CONVSCOPE_PRODUCT_160("bf16");
  else
    CONVSCOPE_PRODUCT_160("f16");
#else
  if constexpr (bf16)
    CONVSCOPE_EMULATED_PRODUCT(bf16, true, 160);
  else
    CONVSCOPE_EMULATED_PRODUCT(f16, true, 160);
#endif
}
// add: else d is overwritten.
template <bool bf16, bool add>
CONVSCOPE_HOPPER_CALL void product_held(float (&d)[64], const uint32_t (&a)[4], uint64_t b CONVSCOPE_AT) {
#if defined(__CUDACC__)
  if constexpr (bf16 && add)
    CONVSCOPE_PRODUCT_128("bf16", "1");
  else if constexpr (bf16)
    CONVSCOPE_PRODUCT_128("bf16", "0");
  else if constexpr (add)
    CONVSCOPE_PRODUCT_128("f16", "1");
  else
    CONVSCOPE_PRODUCT_128("f16", "0");
#else
  if constexpr (bf16)
    CONVSCOPE_EMULATED_PRODUCT(bf16, add, 128);
  else
    CONVSCOPE_EMULATED_PRODUCT(f16, add, 128);
#endif
}

// The same of f16 or bf16 with A in shared memory as well: 16-byte rows of 8 k values, eight of them (128 bytes) in a
// matrix; its descriptor says how far it is to the next 8 rows, and to the next 8 k values.
#if defined(__CUDACC__)
#define CONVSCOPE_PRODUCT_FROM(columns, type, names, operands, added, ...)                                 \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " added ", 0;\nwgmma.mma_async.sync.aligned.m64n" columns \
               "k16.f32." type "." type " {" names "}, " operands ", p, 1, 1, 0, 0;\n}\n"                  \
               : __VA_ARGS__                                                                               \
               : "l"(a), "l"(b), "r"(add))
#define CONVSCOPE_PRODUCT_FROM_OF(sums, type)                                                            \
  if constexpr (sums == 32)                                                                              \
    CONVSCOPE_PRODUCT_FROM("64", type, CONVSCOPE_NAMES_32, "%32, %33", "%34", CONVSCOPE_SUMS_32(d, 0));  \
  else if constexpr (sums == 40)                                                                         \
    CONVSCOPE_PRODUCT_FROM("80", type, CONVSCOPE_NAMES_40, "%40, %41", "%42", CONVSCOPE_SUMS_32(d, 0),   \
                           CONVSCOPE_SUMS_8(d, 32));                                                     \
  else if constexpr (sums == 64)                                                                         \
    CONVSCOPE_PRODUCT_FROM("128", type, CONVSCOPE_NAMES_64, "%64, %65", "%66", CONVSCOPE_SUMS_64(d, 0)); \
  else                                                                                                   \
    CONVSCOPE_PRODUCT_FROM("160", type, CONVSCOPE_NAMES_80, "%80, %81", "%82", CONVSCOPE_SUMS_64(d, 0),  \
                           CONVSCOPE_SUMS_16(d, 64))
#endif
template <bool bf16, int sums>
CONVSCOPE_HOPPER_CALL void product_from(float (&d)[sums], uint64_t a, uint64_t b, int add CONVSCOPE_AT) {
  static_assert(sums == 32 || sums == 40 || sums == 64 || sums == 80, "the shapes that are here");
#if defined(__CUDACC__)
  if constexpr (bf16) {
    CONVSCOPE_PRODUCT_FROM_OF(sums, "bf16");
  } else {
    CONVSCOPE_PRODUCT_FROM_OF(sums, "f16");
  }
#else
  constexpr auto type = bf16 ? convscope::simt::Operand::bf16 : convscope::simt::Operand::f16;
  convscope::simt::wgmma({type, add != 0, 2 * sums, {}, d, b, a}, at);
#endif
}
#endif
