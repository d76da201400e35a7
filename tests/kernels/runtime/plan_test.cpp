// Plans as data, and what becomes of their arguments.
#include "convscope/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

#include "kernels/runtime/device.h"
#include "kernels/runtime/registry.h"
#include "tests/convolution.h"
#include "tests/support.h"

namespace convscope {
namespace {

TEST(Plan, IsPlainData) {
  ConvProblem p;
  p.length = 9, p.stride = 3;
  Plan plan = find_kernel("test_plan").plan_for(p);
  EXPECT_EQ(plan.out_length(), p.out_length()) << "unless the kernel says otherwise";
  EXPECT_EQ(plan.workspace_bytes(), 1000u);
  ASSERT_EQ(plan.launches().size(), 2u);
  const Launch& l = plan.launches()[1];
  EXPECT_STREQ(l.entry.name, "see_arguments");
  EXPECT_EQ(l.grid.count() * l.block.count(), 1);
  ASSERT_EQ(l.arguments.size(), 8u);
  const Tensor tensors[] = {Tensor::x, Tensor::w, Tensor::b, Tensor::y, Tensor::workspace};
  for (size_t i = 0; i < 5; i++) {
    EXPECT_TRUE(l.arguments[i].is_tensor);
    EXPECT_EQ(l.arguments[i].tensor.tensor, tensors[i]);
    EXPECT_EQ(l.arguments[i].size, sizeof(void*));
  }
  EXPECT_EQ(l.arguments[4].tensor.offset_bytes, 512);
  // Values have the type of the kernel's parameter, whatever was given.
  EXPECT_EQ(l.arguments[5].size, sizeof(int));
  EXPECT_EQ(l.arguments[6].size, sizeof(double));
  double real = 0;
  std::memcpy(&real, l.arguments[6].value.data(), sizeof real);
  EXPECT_EQ(real, 1.0);
  EXPECT_EQ(l.arguments[7].size, sizeof(ConvArgs));
}

// A struct of pointers, as PyTorch's accessors are, among other values.
TEST(Plan, AValueMayHoldAddresses) {
  Argument a;
  a.size = 24;
  a.value.fill(std::byte{7});
  a.held = {{0, {Tensor::w, 0}}, {16, {Tensor::workspace, 512}}, {8, {Tensor::b, 4}}};
  const Bindings at{.x = 1, .w = 1000, .b = 0, .y = 3, .workspace = 4000};
  uint64_t words[4];
  const Argument filled = at.filled(a);
  std::memcpy(words, filled.value.data(), sizeof words);
  EXPECT_EQ(words[0], 1000u);
  EXPECT_EQ(words[1], 0u) << "null stays null";
  EXPECT_EQ(words[2], 4512u);
  EXPECT_EQ(words[3], 0x0707070707070707u) << "and the rest what it was";
  Launch l;
  l.arguments = {a};
  EXPECT_TRUE(l.is_given(Tensor::w) && l.is_given(Tensor::workspace));
  EXPECT_FALSE(l.is_given(Tensor::x) || l.is_given(Tensor::y));
}

TEST(Plan, AViewOfATensorIsAnArgument) {
  ConvProblem p;
  p.batch = 3, p.in_channels = 24, p.out_channels = 10, p.kernel_size = 3, p.length = 1000, p.groups = 2;
  const auto& kernel = find_kernel("hopper_tf32");
  ASSERT_EQ(kernel.unsupported(p), "");
  Plan plan = kernel.plan_for(p);
  ASSERT_EQ(plan.launches().size(), 2u) << "weights are packed by a launch of their own";
  EXPECT_GT(plan.workspace_bytes(), 0u);
  const Launch& l = plan.launches()[1];
  EXPECT_LE(l.dynamic_shared_bytes, 227u * 1024);
  const Argument& a = l.arguments[3];
  ASSERT_TRUE(a.is_view);
  EXPECT_EQ(a.size, sizeof(TensorMap));
  EXPECT_EQ(a.view.tensor.tensor, Tensor::x);
  ASSERT_EQ(a.view.rank, 4);
  for (auto [i, size, stride] : {std::tuple{0, 1000, 4}, {1, 12, 4000}, {2, 2, 48000}, {3, 3, 96000}}) {
    EXPECT_EQ(a.view.sizes[static_cast<size_t>(i)], size);
    EXPECT_EQ(a.view.stride_bytes[static_cast<size_t>(i)], stride);
  }
  // Rows that the copy engine cannot read are copied first, behind the packed weights.
  p.length = 1002;
  ASSERT_EQ(kernel.unsupported(p), "");
  Plan padded = kernel.plan_for(p);
  ASSERT_EQ(padded.launches().size(), 3u);
  const TensorView& view = padded.launches()[2].arguments[3].view;
  EXPECT_EQ(view.tensor.tensor, Tensor::workspace);
  EXPECT_EQ(view.tensor.offset_bytes % 256, 0);
  EXPECT_EQ(view.sizes[0], 1002);
  EXPECT_EQ(view.stride_bytes[1], 1004 * 4);
  EXPECT_EQ(padded.workspace_bytes(), static_cast<size_t>(view.tensor.offset_bytes + 3 * 24 * 1004 * 4));
  // What it does not take it says.
  p.length = 1000, p.in_channels = 2 * 4096;
  EXPECT_NE(kernel.unsupported(p).find("shared memory"), std::string::npos);
  p.in_channels = 24, p.dtype = DType::f64;
  EXPECT_NE(kernel.unsupported(p), "");
}

void takes_two(const float*, float*) {}
void takes_a_map(const TensorMap, float*) {}

// Which launches pack follows from what they are given, and from nothing that a kernel file says: neither x nor y, and
// nothing into which one that has these may have written.
TEST(Plan, WhatPacksIsGivenWeightsAndNothingOfACall) {
  ConvProblem p;
  auto packing = [&](auto... launch) {
    Plan plan(p);
    (launch(plan), ...);
    std::string text;
    for (const auto& l : plan.launches()) text += packs(l) ? 'p' : '-';
    EXPECT_EQ(plan.packing().launches().size(), static_cast<size_t>(std::count(text.begin(), text.end(), 'p')));
    EXPECT_EQ(plan.without_packing().launches().size(), static_cast<size_t>(std::count(text.begin(), text.end(), '-')));
    EXPECT_EQ(plan.packs_weights(), text.find('p') != text.npos && text.find('-') != text.npos);
    return text;
  };
  auto two = [](auto from, auto to) {
    return [=](Plan& plan) { plan.launch(ENTRY(takes_two), {1}, {1}).args(from(plan), to(plan)); };
  };
  auto x = [](Plan& plan) { return plan.x(); };
  auto w = [](Plan& plan) { return plan.w(); };
  auto b = [](Plan& plan) { return plan.b(); };
  auto y = [](Plan& plan) { return plan.y(); };
  auto part = [](size_t offset) { return [offset](Plan& plan) { return plan.workspace(offset); }; };
  auto view_of = [](Tensor of, auto to) {
    return [=](Plan& plan) {
      plan.launch(ENTRY(takes_a_map), {1}, {1}).args(TensorView{{of}, 1, {4}, {4}, {4}, false}, to(plan));
    };
  };
  EXPECT_EQ(packing(two(w, part(0)), two(x, y)), "p-");
  EXPECT_EQ(packing(two(w, part(0)), two(b, part(8)), two(x, y)), "p--") << "a bias alone is no weight";
  EXPECT_EQ(packing(two(w, y)), "-");
  EXPECT_EQ(packing(two(x, w)), "-") << "also where it would write";
  EXPECT_EQ(packing(view_of(Tensor::w, part(0)), two(x, y)), "p-");
  EXPECT_EQ(packing(view_of(Tensor::x, part(0)), view_of(Tensor::y, part(0))), "--");
  EXPECT_EQ(packing(view_of(Tensor::x, w)), "-");
  // Rows of x that are copied beside packed weights change nothing; what reads the copy is of the call.
  EXPECT_EQ(packing(two(x, part(256)), two(w, part(0)), two(part(256), y)), "-p-");
  EXPECT_EQ(packing(two(x, part(256)), two(w, part(256)), two(part(256), y)), "---");
  EXPECT_EQ(packing(two(x, part(256)), two(part(256), part(512)), two(w, part(256)), two(part(512), y)), "----")
      << "handed on";
  EXPECT_EQ(packing(two(x, part(256)), two(part(256), part(512)), two(w, part(512)), two(part(512), y)), "----");
  EXPECT_EQ(packing(two(w, part(0)), two(x, part(0)), two(w, part(0)), two(part(0), y)), "p---");
  EXPECT_EQ(packing(two(w, part(0))), "p") << "and no packed call is left";
}

TEST(Plan, ArgumentsBecomeAddresses) {
  auto device = open_emulator();
  auto x = device->allocate(256), w = device->allocate(256), b = device->allocate(256), y = device->allocate(256),
       workspace = device->allocate(1000);
  for (auto [memory, value] : {std::pair{&x, 3.0f}, {&w, 4.0f}, {&b, 5.0f}}) device->write(**memory, 0, &value, 4);
  const auto& kernel = find_kernel("test_plan");
  for (bool bias : {false, true}) {
    ConvProblem p;
    p.bias = bias;
    device->run(kernel, kernel.plan_for(p),
                {x->address(), w->address(), bias ? b->address() : 0, y->address(), workspace->address()}, {});
    float got[8];
    device->read(*y, 0, got, sizeof got);
    const float want[] = {3, 4, bias ? 5.0f : -1.0f, 2, 1, 1, 77, 0};
    for (int i = 0; i < 8; i++) EXPECT_EQ(got[i], want[i]) << "number " << i;
    char left = 0;
    device->read(*workspace, 512, &left, 1);
    EXPECT_EQ(left, 77) << "at the offset that the plan gave";
  }
}

TEST(Plan, UnsupportedProblemsAreNamed) {
  ConvProblem p;
  p.in_channels = p.out_channels = p.groups = 2;
  EXPECT_EQ(find_kernel("test_plan").unsupported(p), "takes one group only");
  EXPECT_EQ(find_kernel("direct").unsupported(p), "");
}

TEST(Plan, CeilDiv) {
  EXPECT_EQ(ceil_div(0, 256), 0);
  EXPECT_EQ(ceil_div(1, 256), 1);
  EXPECT_EQ(ceil_div(256, 256), 1);
  EXPECT_EQ(ceil_div(257, 256), 2);
  EXPECT_EQ(ceil_div(int64_t{1} << 40, 3), 366503875926);
}

// The run that the ladder's tests are built on must see a kernel that touches what is not its own.
TEST(GuardedRun, SeesWhatAKernelTouches) {
  test::Random r(60);
  ConvProblem p;
  p.in_channels = 2, p.kernel_size = 30, p.length = 20;
  auto run = [&](int64_t mode) {
    p.padding = mode;
    auto t = test::random_tensors(r, p);
    return test::run_kernel(find_kernel("test_touch"), p, t);
  };
  auto said = [&](int64_t mode) { return test::error_of<std::runtime_error>([&] { run(mode); }); };
  auto right = run(0);
  for (int64_t e = 0; e < right.elements(); e++) EXPECT_EQ(right.at(e), 0);
  EXPECT_EQ(said(1), "the kernel wrote outside y, at byte -4");
  EXPECT_EQ(said(2), "the kernel wrote outside y, at byte 180");
  EXPECT_EQ(said(3), "the kernel changed x");
  EXPECT_EQ(said(4), "the kernel changed w");
  EXPECT_TRUE(std::isnan(run(5).at(0))) << "what lies behind x is NaN";
  auto unwritten = run(6);
  EXPECT_TRUE(std::isnan(unwritten.at(unwritten.elements() - 1)));
  EXPECT_EQ(unwritten.at(0), 0);
}

}  // namespace
}  // namespace convscope
