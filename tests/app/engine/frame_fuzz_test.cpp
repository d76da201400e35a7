// Streams of frames, damaged in every way: only whole frames ever come out, in order, or a FrameError.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

#include "app/engine/frame.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using Random = std::mt19937_64;

constexpr uint64_t most_payload = 1 << 20;
constexpr double fuzz_seconds = 1.5;

std::string random_frame(Random& random) {
  std::string header(1 + random() % 40, ' '), payload(random() % 3 ? random() % 60 : 0, '\0');
  for (auto& c : header) c = static_cast<char>(random());
  for (auto& c : payload) c = static_cast<char>(random());
  return frame_prefix(header.size(), payload.size()) + header + payload;
}

void damage(std::string& s, Random& random) {
  constexpr char interesting[] = {0, 1, 2, 15, 16, 17, 'C', 'V', 'S', '1', 127, char(-128), char(-1)};
  for (uint64_t n = random() % 4; n > 0 && !s.empty(); n--) {
    size_t at = random() % s.size();
    switch (random() % 6) {
      case 0:
        s[at] = static_cast<char>(random());
        break;
      case 1:
        s[at] = interesting[random() % sizeof interesting];
        break;
      case 2:
        s[at] = static_cast<char>(s[at] ^ 1 << random() % 8);
        break;
      case 3:
        s.erase(at, 1 + random() % 20);
        break;
      case 4:
        s.insert(at, std::string(1 + random() % 20, static_cast<char>(random())));
        break;
      case 5:
        s.insert(at, s.substr(random() % s.size(), 40));
        break;
    }
  }
}

// The format as PROTOCOL.md tells it, read from a whole stream.
struct Decoded {
  std::vector<Frame> frames;
  bool broken = false;
};
Decoded decode(const std::string& s) {
  Decoded d;
  auto number = [&](size_t at, int bytes) {
    uint64_t v = 0;
    std::memcpy(&v, s.data() + at, static_cast<size_t>(bytes));
    return v;
  };
  for (size_t at = 0; at < s.size();) {
    size_t magic = std::min<size_t>(4, s.size() - at);
    if (s.compare(at, magic, "CVS1", magic) != 0) return d.broken = true, d;
    if (s.size() - at < 16) return d;
    uint64_t header = number(at + 4, 4), payload = number(at + 8, 8);
    if (header < 1 || header > most_header_bytes || payload > most_payload) return d.broken = true, d;
    if (s.size() - at - 16 < header + payload) return d;
    Frame f;
    f.header = s.substr(at + 16, header);
    f.payload.resize(payload);
    if (payload) std::memcpy(f.payload.data(), s.data() + at + 16 + header, payload);
    d.frames.push_back(std::move(f));
    at += 16 + header + payload;
  }
  return d;
}

void expect_as_decoded(const std::string& stream, Random& random) {
  Decoded expected = decode(stream);
  FrameParser parser(most_payload);
  std::vector<Frame> got;
  bool broken = false;
  auto bytes = std::as_bytes(std::span(stream));
  try {
    while (!bytes.empty()) {
      size_t n = std::min<size_t>(bytes.size(), random() % 4 ? 1 + random() % 30 : 1 + random() % 4000);
      parser.feed(bytes.first(n));
      bytes = bytes.subspan(n);
      if (random() % 2)
        while (auto f = parser.next()) got.push_back(std::move(*f));
    }
  } catch (const FrameError&) {
    broken = true;
  }
  while (auto f = parser.next()) got.push_back(std::move(*f));
  ASSERT_EQ(broken, expected.broken);
  ASSERT_EQ(got.size(), expected.frames.size());
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_EQ(got[i].header, expected.frames[i].header);
    ASSERT_EQ(got[i].payload, expected.frames[i].payload);
  }
}

TEST(FrameFuzz, DamagedStreams) {
  Random random(20240607);
  int whole = 0, broken = 0, cut = 0;
  for (test::Stopwatch watch;
       watch.seconds() < fuzz_seconds || (std::min({whole, broken, cut}) <= 100 && watch.seconds() < 30);) {
    std::string stream;
    for (uint64_t n = random() % 6; n > 0; n--) stream += random_frame(random);
    damage(stream, random);
    Decoded d = decode(stream);
    size_t used = 0;
    for (const auto& f : d.frames) used += 16 + f.header.size() + f.payload.size();
    (d.broken ? broken : used == stream.size() ? whole : cut)++;
    ASSERT_NO_FATAL_FAILURE(expect_as_decoded(stream, random));
  }
  // All three ends of a stream were tried often.
  EXPECT_GT(whole, 100);
  EXPECT_GT(broken, 100);
  EXPECT_GT(cut, 100);
}

TEST(FrameFuzz, RandomBytes) {
  Random random(7);
  for (test::Stopwatch watch; watch.seconds() < fuzz_seconds / 2;) {
    std::string stream(random() % 200, '\0');
    for (auto& c : stream) c = static_cast<char>(random());
    if (random() % 2 && stream.size() >= 4) stream.replace(0, 4, "CVS1");
    if (random() % 2 && stream.size() >= 16) stream.replace(6, 10, std::string(10, '\0'));  // short header, no payload
    ASSERT_NO_FATAL_FAILURE(expect_as_decoded(stream, random));
  }
}

TEST(FrameFuzz, RandomHeaders) {
  Random random(11);
  const std::string letters = "{}[]\":,0123456789.eE+-truefalsn \\u\t\n\xc3\xa9\xff";
  for (test::Stopwatch watch; watch.seconds() < fuzz_seconds / 2;) {
    std::string header = "{\"type\":\"run\",\"problem\":{\"batch\":1,\"dtype\":\"f32\"},\"at\":[0,1,2.5e3]}";
    for (uint64_t n = random() % 8; n > 0; n--) header[random() % header.size()] = letters[random() % letters.size()];
    try {
      auto j = parse_header(header);
      ASSERT_TRUE(j.is_object());
      ASSERT_EQ(parse_header(header_text(j)), j);
    } catch (const FrameError&) {
    }
  }
}

}  // namespace
}  // namespace convscope
