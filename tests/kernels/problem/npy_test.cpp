#include "kernels/problem/npy.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <sys/stat.h>

#include "tests/kernels/problem/array_files.h"
#include "tests/support.h"

namespace convscope {
namespace {

using namespace test;

HostTensor golden_npy(const std::string& name) {
  return read_array_file(project_file("tests/data/npy/" + name), "x", "input");
}

TEST(Npy, ReadsEverySizeOrderAndLayoutOfNumPy) {
  for (int size : {2, 4, 8})
    for (const char* order : {"le", "be"})
      for (const char* layout : {"C", "F"}) {
        auto name = std::string(order) + "_f" + std::to_string(size) + "_" + layout + ".npy";
        SCOPED_TRACE(name);
        auto t = golden_npy(name);
        EXPECT_EQ(t.dtype, size == 8 ? DType::f64 : size == 4 ? DType::f32 : DType::f16);
        expect_pattern(t);
      }
}

TEST(Npy, ReadsVersionsOneToThree) {
  for (int v : {1, 2, 3}) expect_pattern(golden_npy("version" + std::to_string(v) + ".npy"));
  EXPECT_EQ(said_of_npy(npy(npy_dict("<f4", "(3,)"), floats({1, 2, 3}), 0)),
            "input a.npy is .npy version 0: 1 to 3 are read");
  EXPECT_EQ(said_of_npy(npy(npy_dict("<f4", "(3,)"), floats({1, 2, 3}), 4)),
            "input a.npy is .npy version 4: 1 to 3 are read");
  EXPECT_EQ(said_of_npy(npy(npy_dict("<f4", "(3,)"), floats({1, 2, 3}), 255)),
            "input a.npy is .npy version 255: 1 to 3 are read");
}

TEST(Npy, ReadsEveryNumberOfDimensions) {
  expect_pattern(golden_npy("one_dimension.npy"), {24});
  expect_pattern(golden_npy("eight_dimensions.npy"), {1, 2, 1, 3, 1, 2, 2, 1});
  auto scalar = golden_npy("scalar.npy");
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(scalar.at(0), 2.5);
  auto empty = golden_npy("empty.npy");
  EXPECT_EQ(empty.shape, (std::vector<int64_t>{3, 0, 2}));
  EXPECT_EQ(empty.elements(), 0);
}

TEST(Npy, HalvesBecomeWhatNumPyMakesOfThem) {
  auto file = project_file("tests/data/npy/halves.npz");
  auto halves = read_array_file(file, "halves", "input"), floats = read_array_file(file, "floats", "input");
  ASSERT_EQ(halves.dtype, DType::f16);
  ASSERT_EQ(halves.shape, floats.shape);
  ASSERT_EQ(halves.elements(), 384);
  int nan = 0, infinite = 0, subnormal = 0;
  for (int64_t e = 0; e < halves.elements(); e++) {
    float got = halves.span<__half>()[static_cast<size_t>(e)], want = floats.span<float>()[static_cast<size_t>(e)];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << e;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << e;
      nan++;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << e;
      infinite += std::isinf(want);
      subnormal += want != 0 && std::fabs(want) < 0x1p-14f;
    }
  }
  EXPECT_EQ(nan, 10);
  EXPECT_EQ(infinite, 2);
  EXPECT_EQ(subnormal, 10);
}

TEST(Npy, FortranOrderIsAnotherOrder) {
  // Negative control: the same bytes read in C order are not the pattern.
  auto file = text_file(project_file("tests/data/npy/le_f4_F.npy"));
  expect_pattern(parse_npy(file));
  auto at = file.find("True, ");
  ASSERT_NE(at, std::string::npos);
  file.replace(at, 6, "False,");
  auto t = parse_npy(file);
  EXPECT_EQ(t.at(0), -1);
  EXPECT_NE(t.at(1), 1.0 / 8 - 1);
}

TEST(Npy, HeadersMayBeWrittenInOtherWays) {
  for (const char* dict : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }          \n",
           "{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}",
           "{\"descr\": \"<f4\",\"fortran_order\":False,\"shape\":(3)}",
           "  {\t'descr' :'<f4' ,\n'fortran_order' : False , 'shape' : ( 3 , ) , } \n",
           "{'descr': '=f4', 'fortran_order': False, 'shape': (3,), }",
       }) {
    auto t = parse_npy(npy(dict, floats({1.5f, -2, 3})));
    EXPECT_EQ(t.shape, std::vector<int64_t>{3}) << dict;
    EXPECT_EQ(t.at(1), -2) << dict;
  }
  auto more = parse_npy(npy(npy_dict("<f4", "(2,)"), floats({1, 2, 3, 4})));
  EXPECT_EQ(more.elements(), 2) << "what follows the array is not looked at, as in NumPy";
}

// NumPy has no bfloat16: its numbers are written as f32, which holds them all.
TEST(Npy, Bfloat16IsWrittenAsFloats) {
  EXPECT_EQ(npy_type(DType::bf16), DType::f32);
  for (auto type : {DType::f32, DType::f64, DType::f16}) EXPECT_EQ(npy_type(type), type);
  EXPECT_EQ(npy_header(DType::bf16, {3}), npy_header(DType::f32, {3}));
  EXPECT_NE(npy_header(DType::f16, {3}).find("'<f2'"), std::string::npos);
  auto t = make_tensor(DType::bf16, {65536 - 256}, [](auto* out, int64_t n) {
    for (int64_t e = 0; e < n; e++) {  // all that are finite
      auto sign = static_cast<uint16_t>(e < n / 2 ? 0 : 0x8000), bits = static_cast<uint16_t>(e % (n / 2));
      if constexpr (sizeof *out == 2)
        out[e] = std::bit_cast<std::remove_pointer_t<decltype(out)>>(uint16_t(sign | bits));
    }
  });
  auto written = convert(t, npy_type(t.dtype));
  auto back = convert(written, DType::bf16);
  EXPECT_EQ(std::memcmp(back.data(), t.data(), t.size_bytes()), 0);
}

TEST(Npy, WhatItWritesItReadsAgain) {
  for (auto type : {DType::f32, DType::f64, DType::f16})
    for (auto shape : std::vector<std::vector<int64_t>>{{}, {3}, {3, 4}, {2, 1, 5}, {0}, {1, 2, 3, 4, 5, 6, 7, 8}}) {
      auto header = npy_header(type, shape);
      EXPECT_EQ(header.size() % 64, 0u) << "the data is aligned";
      EXPECT_EQ(header.back(), '\n');
      int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
      auto t = make_tensor(type, shape, [](auto* out, int64_t count) {
        for (int64_t e = 0; e < count; e++)
          out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(1 / (static_cast<double>(e) + 0.1));
      });
      auto back = parse_npy(header + std::string(reinterpret_cast<const char*>(t.data()), t.size_bytes()));
      ASSERT_EQ(back.shape, shape);
      ASSERT_EQ(back.dtype, type);
      for (int64_t e = 0; e < n; e++) EXPECT_EQ(back.at(e), t.at(e));
    }
  // A header longer than one block of 64 is padded as a whole.
  std::vector<int64_t> wide(8, 1000000000000);
  EXPECT_EQ(npy_header(DType::f32, wide).size() % 64, 0u);
}

TEST(Npy, TheHeaderItWritesIsNumPys) {
  auto numpys = text_file(project_file("tests/data/npy/version1.npy"));
  auto ours = npy_header(DType::f32, {2, 3, 4});
  EXPECT_EQ(ours, numpys.substr(0, ours.size()));
  auto flat = text_file(project_file("tests/data/npy/one_dimension.npy"));
  EXPECT_EQ(npy_header(DType::f32, {24}), flat.substr(0, npy_header(DType::f32, {24}).size()));
  auto scalar = text_file(project_file("tests/data/npy/scalar.npy"));
  EXPECT_EQ(npy_header(DType::f32, {}), scalar.substr(0, npy_header(DType::f32, {}).size()));
}

TEST(Npy, OtherTypesAreRefused) {
  auto said = [](const std::string& name) {
    auto text = error_of<InputError>([&] { golden_npy(name); });
    return text.substr(text.find(".npy ") + 5);
  };
  EXPECT_EQ(said("refused_integers.npy"), "holds type '<i4': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_bytes.npy"), "holds type '|u1': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_booleans.npy"), "holds type '|b1': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_complex.npy"), "holds type '<c8': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_text.npy"), "holds type '<U2': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_longdouble.npy"), "holds type '<f16': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_objects.npy"), "holds type '|O': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_dates.npy"), "holds type '<M8[D]': only f2, f4 and f8 are read");
  EXPECT_EQ(said("refused_structured.npy"), "holds a structured type: only f2, f4 and f8 are read");
  EXPECT_EQ(said("nine_dimensions.npy"), "has more than 8 dimensions");
}

TEST(Npy, BrokenHeadersAreRefused) {
  auto with = [](const std::string& dict) { return said_of_npy(npy(dict, floats({1, 2, 3}))); };
  ASSERT_EQ(with(npy_dict("<f4", "(3,)")), "") << "the positive control";
  EXPECT_EQ(with(""), "input a.npy has a header that is not a NumPy header");
  EXPECT_EQ(with("{"), "input a.npy has a header that is not a NumPy header");
  EXPECT_EQ(with("['descr']"), "input a.npy has a header that is not a NumPy header");
  EXPECT_EQ(with("{'descr' '<f4'}"), "input a.npy has a header that is not a NumPy header");
  EXPECT_EQ(with("{'descr': '<f4"), "input a.npy has a header that ends inside a string");
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}"),
            "input a.npy has a fortran_order that is neither True nor False");
  EXPECT_EQ(with("{'descr': '<f4', 'shape': (3,)}"), "input a.npy lacks descr, fortran_order or shape in its header");
  EXPECT_EQ(with("{'fortran_order': False, 'shape': (3,)}"),
            "input a.npy lacks descr, fortran_order or shape in its header");
  EXPECT_EQ(with("{'descr': '<f4', 'fortran_order': False}"),
            "input a.npy lacks descr, fortran_order or shape in its header");
  EXPECT_EQ(with("{'color': 'red'}"), "input a.npy has an unknown key in its header");
  for (const char* shape : {"(x,)", "(-1,)", "(,)", "(3", "(99999999999999999999,)", "('3',)"})
    EXPECT_EQ(with(npy_dict("<f4", shape)), "input a.npy has a shape that is not a tuple of sizes") << shape;
  for (const char* shape : {"3", "(3 3)", "[3]", "(3.0,)"})
    EXPECT_EQ(with(npy_dict("<f4", shape)), "input a.npy has a header that is not a NumPy header") << shape;
  EXPECT_EQ(with(npy_dict("f4", "(3,)")), "input a.npy holds type 'f4': only f2, f4 and f8 are read");
  EXPECT_EQ(with(npy_dict("<f3", "(3,)")), "input a.npy holds type '<f3': only f2, f4 and f8 are read");
  EXPECT_EQ(with(npy_dict(std::string(500, 'z'), "(3,)")),
            "input a.npy holds type '" + std::string(32, 'z') + "': only f2, f4 and f8 are read")
      << "a long one is cut";
}

TEST(Npy, HugeShapesAreRefusedBeforeAnythingIsAllocated) {
  auto with = [](const char* shape) { return said_of_npy(npy(npy_dict("<f4", shape), floats({1, 2, 3}))); };
  EXPECT_EQ(with("(1000000, 1000000)"), "input a.npy has more than 68719476736 elements");
  EXPECT_EQ(with("(9223372036854775807, 9223372036854775807, 9223372036854775807, 4)"),
            "input a.npy has more than 68719476736 elements");
  // 2^32 · 2^32: zero in 64 bits.
  EXPECT_EQ(with("(4294967296, 4294967296)"), "input a.npy has more than 68719476736 elements");
  EXPECT_EQ(with("(68719476736,)"),
            "input a.npy is truncated: shape [68719476736] of <f4 needs 274877906944 bytes of data, the file has 12");
  auto empty = parse_npy(npy(npy_dict("<f4", "(0, 9223372036854775807, 9223372036854775807)", "True"), ""));
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(said_of_npy(npy(std::string((1 << 20) + 1, ' '), "", 2)), "input a.npy has a header of more than 1 MiB");
}

TEST(Npy, EveryTruncationIsRefused) {
  for (const char* name : {"le_f4_C.npy", "be_f8_F.npy", "version2.npy"}) {
    auto whole = text_file(project_file(std::string("tests/data/npy/") + name));
    ASSERT_EQ(said_of_npy(whole), "");
    for (size_t n = 0; n < whole.size(); n++) {
      auto said = said_of_npy(whole.substr(0, n));
      ASSERT_NE(said, "") << name << " cut to " << n;
      if (n < 6) {
        ASSERT_EQ(said, "input a.npy is not a .npy file");
      }
    }
    EXPECT_NE(said_of_npy(whole.substr(0, 11)).find("is truncated inside its header"), std::string::npos);
    EXPECT_NE(said_of_npy(whole.substr(0, whole.size() - 1)).find("is truncated: shape [2, 3, 4] of "),
              std::string::npos);
  }
}

TEST(Npy, FilesThatAreNoneAreRefused) {
  ScratchFolder scratch;
  auto said = [](const std::string& path) {
    auto text = error_of<InputError>([&] { read_array_file(path, "x", "input"); });
    return text.substr(0, 6) == "input " && text.find(path) == 6 ? text.substr(7 + path.size()) : text;
  };
  EXPECT_EQ(said(scratch.path("missing.npy")), "cannot be opened: No such file or directory");
  ASSERT_EQ(mkdir(scratch.path("folder.npy").c_str(), 0755), 0);
  EXPECT_EQ(said(scratch.path("folder.npy")), "is a directory: a .npy or .npz file is needed");
  ASSERT_EQ(mkfifo(scratch.path("pipe.npy").c_str(), 0644), 0);
  EXPECT_EQ(said(scratch.path("pipe.npy")), "is not a regular file");
  EXPECT_EQ(said(scratch.write("empty.npy", "", 0)), "is not a .npy file");
  EXPECT_EQ(said(scratch.write("text.npy", "hello, world, hello", 19)), "is not a .npy file");
  EXPECT_EQ(said(scratch.write("text.npz", "hello", 5)), "is truncated: no zip directory");
  auto good = small_npy();
  EXPECT_EQ(said(scratch.write("good.npy", good.data(), good.size())), "");
  auto path = scratch.write("array.npz", good.data(), good.size());
  EXPECT_EQ(said(path), "is not a zip archive, or is truncated") << "an array under the wrong name";
  EXPECT_EQ(said("/proc/self/mem/x.npy"), "cannot be opened: Not a directory");
}

}  // namespace
}  // namespace convscope
