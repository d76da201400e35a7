// The vector types of CUDA that simt.h lacks, for the emulator (CUDA C++ Programming Guide, "Built-in Vector Types":
// sizes and alignments are those of its table). Unlike those of simt.h their copies are traced member by member.
#pragma once
#include "convscope/simt.h"

#define CONVSCOPE_VECTOR1(name, T) \
  struct name {                    \
    T x;                           \
  };                               \
  constexpr name make_##name(T x) { return {x}; }
#define CONVSCOPE_VECTOR2(name, T)     \
  struct alignas(2 * sizeof(T)) name { \
    T x, y;                            \
  };                                   \
  constexpr name make_##name(T x, T y) { return {x, y}; }
#define CONVSCOPE_VECTOR3(name, T) \
  struct name {                    \
    T x, y, z;                     \
  };                               \
  constexpr name make_##name(T x, T y, T z) { return {x, y, z}; }
#define CONVSCOPE_VECTOR4(name, T)                               \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name { \
    T x, y, z, w;                                                \
  };                                                             \
  constexpr name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
#define CONVSCOPE_VECTORS(name, T) \
  CONVSCOPE_VECTOR1(name##1, T)    \
  CONVSCOPE_VECTOR2(name##2, T) CONVSCOPE_VECTOR3(name##3, T) CONVSCOPE_VECTOR4(name##4, T)
CONVSCOPE_VECTORS(char, signed char)
CONVSCOPE_VECTORS(uchar, unsigned char)
CONVSCOPE_VECTORS(short, short)
CONVSCOPE_VECTORS(ushort, unsigned short)
CONVSCOPE_VECTORS(long, long)
CONVSCOPE_VECTORS(ulong, unsigned long)
CONVSCOPE_VECTORS(longlong, long long)
CONVSCOPE_VECTORS(ulonglong, unsigned long long)
CONVSCOPE_VECTOR1(float1, float)
CONVSCOPE_VECTOR3(float3, float)
CONVSCOPE_VECTOR1(int1, int)
CONVSCOPE_VECTOR3(int3, int)
CONVSCOPE_VECTOR1(uint1, unsigned)
CONVSCOPE_VECTOR1(double1, double)
CONVSCOPE_VECTOR3(double3, double)
CONVSCOPE_VECTOR4(double4, double)
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef CONVSCOPE_VECTORS
#undef CONVSCOPE_VECTOR1
#undef CONVSCOPE_VECTOR2
#undef CONVSCOPE_VECTOR3
#undef CONVSCOPE_VECTOR4
