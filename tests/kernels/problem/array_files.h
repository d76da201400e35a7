// Files made by hand, byte by byte, for the tests of npy.h: also such as NumPy would never write.
#pragma once
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

#include "kernels/problem/npy.h"
#include "tests/support.h"

namespace convscope::test {

inline std::string little(uint64_t v, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; i++) s += static_cast<char>(v >> 8 * i & 255);
  return s;
}

inline std::string npy(const std::string& dict, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + little(dict.size(), version == 1 ? 2 : 4) +
         dict + data;
}

inline std::string npy_dict(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

inline std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// [1.5, -2, 3] as a file.
inline std::string small_npy() { return npy(npy_dict("<f4", "(3,)"), floats({1.5f, -2, 3})); }

struct ZipPart {
  std::string name, content;
  bool deflated = false;
  bool zip64 = false;  // sizes and place in the extra field, as for entries of more than 4 GiB
  // What the archive says in place of the truth.
  int64_t claimed_method = -1, claimed_size = -1, claimed_packed = -1, claimed_crc = -1, claimed_offset = -1;
};

inline std::string deflated(const std::string& content) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

inline std::string zip(const std::vector<ZipPart>& parts, const std::string& comment = "") {
  std::string file, directory;
  for (const auto& p : parts) {
    auto or_else = [](int64_t claimed, uint64_t truth) {
      return claimed >= 0 ? static_cast<uint64_t>(claimed) : truth;
    };
    std::string packed = p.deflated ? deflated(p.content) : p.content;
    uint64_t crc = or_else(
        p.claimed_crc, crc32(0, reinterpret_cast<const Bytef*>(p.content.data()), static_cast<uInt>(p.content.size())));
    uint64_t size = or_else(p.claimed_size, p.content.size()), length = or_else(p.claimed_packed, packed.size());
    uint64_t method = or_else(p.claimed_method, p.deflated ? 8 : 0), offset = or_else(p.claimed_offset, file.size());
    std::string common = little(20, 2) + little(0, 2) + little(method, 2) + little(0, 4) + little(crc, 4);
    std::string extra;
    if (p.zip64) extra = little(1, 2) + little(24, 2) + little(size, 8) + little(length, 8) + little(offset, 8);
    auto place = [&](uint64_t v) { return p.zip64 ? little(0xffffffff, 4) : little(v, 4); };
    directory += "PK\x01\x02" + little(20, 2) + common + place(length) + place(size) + little(p.name.size(), 2) +
                 little(extra.size(), 2) + little(0, 2) + little(0, 8) + place(offset) + p.name + extra;
    // NumPy writes an extra field into the local header that the directory does not have.
    std::string local = p.zip64 ? little(1, 2) + little(16, 2) + little(size, 8) + little(length, 8) : "";
    file += "PK\x03\x04" + common + place(length) + place(size) + little(p.name.size(), 2) + little(local.size(), 2) +
            p.name + local + packed;
  }
  uint64_t start = file.size();
  return file + directory + "PK\x05\x06" + little(0, 4) + little(parts.size(), 2) + little(parts.size(), 2) +
         little(directory.size(), 4) + little(start, 4) + little(comment.size(), 2) + comment;
}

inline HostTensor parse_npy(const std::string& file) {
  return read_npy(std::as_bytes(std::span(file)), "input", "a.npy");
}
inline HostTensor parse_npz(const std::string& file, std::string_view wanted = "x") {
  return read_npz(std::as_bytes(std::span(file)), wanted, "input", "a.npz");
}
inline std::string said_of_npy(const std::string& file) {
  return error_of<InputError>([&] { parse_npy(file); });
}
inline std::string said_of_npz(const std::string& file, std::string_view wanted = "x") {
  return error_of<InputError>([&] { parse_npz(file, wanted); });
}

// The pattern of make_golden.py: e/8 − 1 at flat index e.
inline void expect_pattern(const HostTensor& t, const std::vector<int64_t>& shape = {2, 3, 4}) {
  ASSERT_EQ(t.shape, shape);
  ASSERT_EQ(t.elements(), 24);
  for (int64_t e = 0; e < 24; e++) EXPECT_EQ(t.at(e), static_cast<double>(e) / 8 - 1) << "element " << e;
}

}  // namespace convscope::test
