// Values that tell where they stand.
#include "kernels/verify/coded_inputs.h"

#include <bit>
#include <gtest/gtest.h>
#include <set>

namespace convscope {
namespace {

ConvProblem layer(DType t, int64_t length = 50) {
  ConvProblem p;
  p.dtype = t, p.batch = 2, p.in_channels = 6, p.out_channels = 4, p.kernel_size = 5, p.length = length, p.bias = true;
  return p;
}

uint64_t bits_at(const HostTensor& t, int64_t i) {
  return dispatch(t.dtype, [&](auto zero) -> uint64_t {
    using T = decltype(zero);
    return std::bit_cast<BitsOf<T>>(t.span<T>()[static_cast<size_t>(i)]);
  });
}
using Element = CodedInputs::Element;
using Candidates = std::vector<std::vector<Element>>;

class CodedInputsOf : public testing::TestWithParam<DType> {};

TEST_P(CodedInputsOf, EachValueTellsItsElement) {
  const ConvProblem p = layer(GetParam());
  const CodedInputs codes(p);
  const Inputs in = codes.make();
  const auto bytes = static_cast<unsigned>(size_of(p.dtype));
  std::set<uint64_t> values;
  for (const auto& [tensor, of] : {std::pair{'x', &in.x}, {'w', &in.w}, {'b', &in.b}})
    for (int64_t i = 0; i < of->elements(); i++) {
      EXPECT_EQ(codes.read(bits_at(*of, i), bytes), (Candidates{{{tensor, i}}})) << tensor << i;
      EXPECT_TRUE(values.insert(bits_at(*of, i)).second) << "no two have the same";
      EXPECT_TRUE(std::isfinite(of->at(i)));
    }
  EXPECT_TRUE(codes.read(0, bytes).empty()) << "zero is nothing's";
  const Candidates none{{}};
  // bf16's codes take all numbers from 2^-64 on.
  for (const double v :
       p.dtype == DType::bf16 ? std::vector{1e-30} : std::vector{0.0009765625, 3e4, -1e5, 1.0, -1.0, 0.5})
    EXPECT_EQ(codes.read(dispatch(p.dtype,
                                  [&](auto zero) -> uint64_t {
                                    using T = decltype(zero);
                                    return std::bit_cast<BitsOf<T>>(static_cast<T>(v));
                                  }),
                         bytes),
              none)
        << v;
}
INSTANTIATE_TEST_SUITE_P(Types, CodedInputsOf, testing::Values(DType::f32, DType::f64, DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(CodedInputs, SeveralAtOnce) {
  const CodedInputs codes(layer(DType::f32));
  const Inputs in = codes.make();
  EXPECT_EQ(codes.read(bits_at(in.x, 7) | bits_at(in.w, 3) << 32, 8), (Candidates{{{'x', 7}}, {{'w', 3}}}));
  const CodedInputs halves(layer(DType::f16));
  const Inputs small = halves.make();
  EXPECT_EQ(halves.read(bits_at(small.x, 7) | bits_at(small.x, 8) << 16, 4), (Candidates{{{'x', 7}}, {{'x', 8}}}));
}

// Kernels make f32 of 16-bit numbers on their way to shared memory.
TEST(CodedInputs, HalvesThatWereWidened) {
  for (const DType t : {DType::f16, DType::bf16}) {
    const CodedInputs codes(layer(t));
    const Inputs in = codes.make();
    for (int64_t i = 0; i < 60; i++) {
      const auto wide = std::bit_cast<uint32_t>(static_cast<float>(in.w.at(i)));
      EXPECT_EQ(codes.read(wide, 4), (Candidates{{{'w', i}}})) << name_of(t) << ' ' << i;
    }
  }
}

TEST(CodedInputs, ManyElementsShareAValueIn16Bits) {
  const ConvProblem p = layer(DType::f16, 4000);
  const CodedInputs codes(p);
  const auto candidates = codes.read(bits_at(codes.make().x, 20000), 2);
  EXPECT_EQ(candidates, (Candidates{{{'x', 20000 - (1 << 14)}, {'x', 20000}, {'x', 20000 + (1 << 14)}}}));
}

// What is computed with is hardly ever taken for another element.
TEST(CodedInputs, RoundedValuesAndSumsAreNone) {
  const CodedInputs codes(layer(DType::f32));
  const Inputs in = codes.make();
  int taken = 0;
  for (int64_t i = 0; i < in.x.elements(); i++) {
    const auto rounded = (bits_at(in.x, i) + 0x1000) & 0xffffe000;  // TF32
    const auto sum = std::bit_cast<uint32_t>(static_cast<float>(in.x.at(i) + in.x.at((i + 1) % in.x.elements())));
    for (const uint64_t bits : {rounded, uint64_t{sum}})
      for (const auto& c : codes.read(bits, 4)) taken += !c.empty();
  }
  EXPECT_LT(taken, 3);
}

}  // namespace
}  // namespace convscope
