// The archives of numpy.savez and numpy.savez_compressed, and all the ways in which an archive can be wrong.
#include <gtest/gtest.h>

#include "tests/kernels/problem/array_files.h"
#include "tests/support.h"

namespace convscope {
namespace {

using namespace test;

std::string golden_npz(const char* name) { return text_file(project_file(std::string("tests/data/npy/") + name)); }

TEST(Npz, ReadsWhatNumPyWrites) {
  for (const char* name : {"many.npz", "many_compressed.npz"}) {
    SCOPED_TRACE(name);
    auto file = golden_npz(name);
    expect_pattern(parse_npz(file, "x"));
    auto w = parse_npz(file, "w");
    EXPECT_EQ(w.dtype, DType::f64);
    expect_pattern(w);
    auto b = parse_npz(file, "b");
    EXPECT_EQ(b.shape, std::vector<int64_t>{3});
    EXPECT_EQ(b.at(2), 2);
  }
}

TEST(Npz, AnOnlyEntryNeedsNoName) {
  expect_pattern(parse_npz(golden_npz("one.npz"), "x"));
  expect_pattern(parse_npz(golden_npz("one.npz"), "weight"));
  expect_pattern(parse_npz(golden_npz("positional.npz"), "x"));
}

TEST(Npz, AMissingNameListsWhatThereIs) {
  EXPECT_EQ(said_of_npz(golden_npz("many.npz"), "y"), "input a.npz has no array named y (it has: x.npy, w.npy, b.npy)");
  EXPECT_EQ(said_of_npz(zip({}), "x"), "input a.npz has no array named x (it has: none)");
}

TEST(Npz, LargeRatiosAreNotLies) {
  auto t = parse_npz(golden_npz("zeros_compressed.npz"));
  EXPECT_EQ(t.elements(), 100000);
  for (int64_t e = 0; e < t.elements(); e++) ASSERT_EQ(t.at(e), 0);
}

TEST(Npz, ReadsArchivesMadeByHand) {
  for (bool deflate : {false, true})
    for (bool zip64 : {false, true}) {
      auto file = zip({{"other.npy", "not an array"}, {"x.npy", small_npy(), deflate, zip64}}, "a comment");
      auto t = parse_npz(file);
      EXPECT_EQ(t.at(0), 1.5) << deflate << zip64;
      EXPECT_EQ(t.at(2), 3) << deflate << zip64;
      EXPECT_EQ(said_of_npz(file, "other"), "input a.npz is not a .npy file");
    }
  EXPECT_EQ(said_of_npz(zip({{"x.npy", small_npy()}}, std::string(65535, 'c'))), "") << "the longest comment";
}

TEST(Npz, DamageIsRefused) {
  ZipPart good{"x.npy", small_npy()}, packed{"x.npy", small_npy(), true};
  ASSERT_EQ(said_of_npz(zip({good})), "") << "the positive control";
  ASSERT_EQ(said_of_npz(zip({packed})), "");
  auto changed = [](ZipPart part, auto&& change) {
    change(part);
    return said_of_npz(zip({part}));
  };
  auto is = [](const std::string& what) { return "input a.npz " + what; };
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_method = 12; }),
            is("is packed by a method other than stored or deflate"));
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_offset = 1; }), is("has a damaged entry"));
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_offset = 0x7fffffff; }), is("has a damaged entry"));
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_packed = 100000, p.claimed_size = 100000; }),
            is("is truncated inside an entry"));
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_crc = 12345; }), is("has a damaged or truncated entry"));
  EXPECT_EQ(changed(packed, [](auto& p) { p.claimed_crc = 12345; }), is("has a damaged or truncated entry"));
  EXPECT_EQ(changed(good, [](auto& p) { p.claimed_size = 3; }), is("has a damaged or truncated entry"));
  EXPECT_EQ(changed(packed, [](auto& p) { p.claimed_packed = 20; }), is("has a damaged or truncated entry"));
  EXPECT_EQ(
      changed(packed, [](auto& p) { p.content += 'x', p.claimed_size = static_cast<int64_t>(p.content.size()) - 1; }),
      is("has a damaged or truncated entry"));
  // Sizes that lie: a little, and by so much that nothing must be allocated for them.
  EXPECT_EQ(changed(packed, [](auto& p) { p.claimed_size = static_cast<int64_t>(p.content.size()) + 1; }),
            is("has a damaged or truncated entry"));
  EXPECT_EQ(changed(packed, [](auto& p) { p.claimed_size = 0xfffffffe; }), is("has an entry whose size is impossible"));
  EXPECT_EQ(changed(packed, [](auto& p) { p.zip64 = true, p.claimed_size = int64_t{1} << 60; }),
            is("has an entry whose size is impossible"));
  EXPECT_EQ(changed(good, [](auto& p) { p.zip64 = true, p.claimed_packed = int64_t{1} << 62; }),
            is("is truncated inside an entry"));
  EXPECT_EQ(changed(good, [](auto& p) { p.zip64 = true, p.claimed_offset = int64_t{1} << 62; }),
            is("has a damaged entry"));
  // A stream of deflate that is none: its first block has the forbidden type 3.
  ZipPart nonsense{"x.npy", std::string(60, '\xff')};
  nonsense.claimed_method = 8;
  EXPECT_EQ(said_of_npz(zip({nonsense})), is("has a damaged or truncated entry"));
}

TEST(Npz, OneChangedBitIsSeen) {
  // The archive has a checksum of each entry, so a wrong number can not slip in.
  for (bool deflate : {false, true}) {
    auto file = zip({{"x.npy", npy(npy_dict("<f4", "(50,)"), floats(std::vector<float>(50, 1.25f))), deflate}});
    ASSERT_EQ(said_of_npz(file), "");
    // The last byte of a deflate stream may end in bits that mean nothing.
    size_t begin = 30 + 5, end = file.find("PK\x01\x02") - (deflate ? 1 : 0);
    for (size_t at = begin; at < end; at++)
      for (int bit = 0; bit < 8; bit++) {
        auto damaged = file;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        ASSERT_NE(said_of_npz(damaged), "")
            << "bit " << bit << " of byte " << at << (deflate ? ", deflated" : ", stored");
      }
  }
}

TEST(Npz, EveryTruncationIsRefused) {
  for (const char* name : {"one.npz", "many.npz", "many_compressed.npz"}) {
    auto whole = golden_npz(name);
    for (size_t n = 0; n < whole.size(); n++) ASSERT_NE(said_of_npz(whole.substr(0, n)), "") << name << " cut to " << n;
  }
  EXPECT_EQ(said_of_npz(std::string(21, 'x')), "input a.npz is truncated: no zip directory");
  EXPECT_EQ(said_of_npz(std::string(22, 'x')), "input a.npz is not a zip archive, or is truncated");
}

TEST(Npz, ADamagedDirectoryIsRefused) {
  auto file = zip({{"x.npy", small_npy()}});
  auto end = file.find("PK\x05\x06");
  auto patched = [&](size_t at, const std::string& bytes) {
    auto f = file;
    f.replace(end + at, bytes.size(), bytes);
    return said_of_npz(f);
  };
  EXPECT_EQ(patched(10, little(2, 2)), "input a.npz has a damaged zip directory") << "more entries than there are";
  EXPECT_EQ(patched(16, little(0xffffffff, 4)), "input a.npz has a damaged zip directory");
  EXPECT_EQ(patched(16, little(0, 4)), "input a.npz has a damaged zip directory") << "it points at an entry";
  auto name_length = file.find("PK\x01\x02") + 28;
  auto f = file;
  f.replace(name_length, 2, little(60000, 2));
  EXPECT_EQ(said_of_npz(f), "input a.npz has a damaged zip directory") << "a name beyond the end";
}

TEST(Npz, BrokenArraysInsideAreRefusedAsArrays) {
  EXPECT_EQ(said_of_npz(zip({{"x.npy", npy(npy_dict("<i4", "(3,)"), floats({1, 2, 3})), true}})),
            "input a.npz holds type '<i4': only f2, f4 and f8 are read");
  EXPECT_EQ(said_of_npz(zip({{"x.npy", npy(npy_dict("<f4", "(4,)"), floats({1, 2, 3}))}})),
            "input a.npz is truncated: shape [4] of <f4 needs 16 bytes of data, the file has 12");
}

}  // namespace
}  // namespace convscope
