#include "kernels/problem/tensor.h"

#include <gtest/gtest.h>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(HostBytes, AreAlignedWritableAndMovable) {
  // On both sides of the size from which the system is asked for pages of its own.
  for (size_t size :
       {size_t{1}, size_t{63}, size_t{4096}, (size_t{1} << 20) - 1, size_t{1} << 20, (size_t{3} << 20) + 5}) {
    HostBytes a(size);
    ASSERT_EQ(a.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
    a.data()[0] = std::byte{7};
    a.data()[size - 1] = std::byte{9};
    HostBytes b(std::move(a));
    EXPECT_EQ(b.data()[size - 1], std::byte{9});
    EXPECT_EQ(a.size(), 0u);
    HostBytes c(17);
    c = std::move(b);
    EXPECT_EQ(c.size(), size);
  }
  EXPECT_EQ(HostBytes(0).data(), nullptr);
}

TEST(HostBytes, WhatDoesNotFitIsSaidBeforeItIsTaken) {
  auto said = test::error_of<InputError>([] { HostBytes(size_t{1} << 60); });
  EXPECT_EQ(said.substr(0, said.find(", but")), "memory 1024.00 PiB needed at once");
  EXPECT_NE(said.find("the system has "), std::string::npos);
  EXPECT_THROW(HostBytes(std::numeric_limits<size_t>::max()), InputError);
  EXPECT_THROW(HostBytes(available_host_memory() + (size_t{1} << 30)), InputError);
}

TEST(HostBytes, KnowWhatTheSystemHas) {
  auto free = available_host_memory();
  EXPECT_GT(free, size_t{16} << 20);
  EXPECT_LT(free, size_t{1} << 50);
}

TEST(HostTensor, HoldsWhatWasFilledIn) {
  auto t = make_tensor(DType::f64, {2, 3}, [](auto* out, int64_t count) {
    for (int64_t e = 0; e < count; e++)
      out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(static_cast<double>(e) / 4);
  });
  EXPECT_EQ(t.elements(), 6);
  EXPECT_EQ(t.size_bytes(), 48u);
  EXPECT_EQ(t.span<double>()[5], 1.25);
  EXPECT_EQ(t.at(5), 1.25);
  auto f = make_tensor(DType::f32, {}, [](auto* out, int64_t count) {
    EXPECT_EQ(count, 1) << "no dimensions are one element";
    out[0] = 0.1f;
  });
  EXPECT_EQ(f.at(0), static_cast<double>(0.1f));
  auto none = make_tensor(DType::f32, {3, 0}, [](auto*, int64_t count) { EXPECT_EQ(count, 0); });
  EXPECT_EQ(none.elements(), 0);
  EXPECT_EQ(HostTensor{}.data(), nullptr);
}

TEST(HostTensor, ConvertsRoundingToNearest) {
  auto t = make_tensor(DType::f64, {4}, [](auto* out, int64_t) {
    const double values[] = {1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50, -0.1, 0x1p-140};
    for (int e = 0; e < 4; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(values[e]);
  });
  auto f = convert(t, DType::f32);
  EXPECT_EQ(f.dtype, DType::f32);
  EXPECT_EQ(f.shape, t.shape);
  EXPECT_EQ(f.span<float>()[0], 1) << "a tie goes to the even neighbour";
  EXPECT_EQ(f.span<float>()[1], 1 + 0x1p-23f);
  EXPECT_EQ(f.span<float>()[2], -0.1f);
  EXPECT_EQ(f.span<float>()[3], 0x1p-140f) << "subnormal";
  auto back = convert(f, DType::f64);
  for (int e = 0; e < 4; e++) EXPECT_EQ(back.at(e), static_cast<double>(f.span<float>()[static_cast<size_t>(e)]));
  EXPECT_EQ(convert(t, DType::f64).data(), t.data()) << "the same type is the same tensor";
}

}  // namespace
}  // namespace convscope
