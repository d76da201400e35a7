// Frames: round trips however the bytes come, and every way in which a prefix can be wrong.
#include "app/engine/frame.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

#include "kernels/problem/tensor.h"
#include "tests/support.h"

namespace convscope {
namespace {

using nlohmann::json;

std::string encoded(const std::string& header, const std::string& payload) {
  return frame_prefix(header.size(), payload.size()) + header + payload;
}

std::span<const std::byte> bytes(const std::string& s) { return std::as_bytes(std::span(s)); }

std::string text(const std::vector<std::byte>& b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

std::vector<Frame> drain(FrameParser& parser) {
  std::vector<Frame> out;
  while (auto f = parser.next()) out.push_back(std::move(*f));
  return out;
}

std::string refusal(const std::string& stream, uint64_t most_payload = most_payload_bytes) {
  return test::error_of<FrameError>([&] {
    FrameParser parser(most_payload);
    parser.feed(bytes(stream));
  });
}

TEST(Frame, PrefixIsMagicAndLittleEndianLengths) {
  EXPECT_EQ(frame_prefix(0x0a0b0c, 0x1122334455), std::string("CVS1\x0c\x0b\x0a\0\x55\x44\x33\x22\x11\0\0\0", 16));
  EXPECT_EQ(frame_prefix(1, 0).size(), frame_prefix_bytes);
}

TEST(Frame, RoundTrip) {
  std::mt19937 random(1);
  for (size_t header : {1, 2, 15, 16, 17, 4096, 100000})
    for (size_t payload : {0, 1, 15, 16, 17, 65536, 1000000}) {
      std::string h(header, 'h'), p(payload, '\0');
      for (auto& c : p) c = static_cast<char>(random());
      FrameParser parser;
      parser.feed(bytes(encoded(h, p)));
      auto frames = drain(parser);
      ASSERT_EQ(frames.size(), 1u);
      EXPECT_EQ(frames[0].header, h);
      EXPECT_EQ(text(frames[0].payload), p);
      EXPECT_FALSE(parser.next());
    }
}

TEST(Frame, BytesMayComeOneByOne) {
  std::string stream =
      encoded("{\"a\":1}", "payload") + encoded("{}", "") + encoded("{\"b\":2}", std::string(300, 'x'));
  FrameParser parser;
  std::vector<std::pair<size_t, Frame>> got;
  for (size_t i = 0; i < stream.size(); i++) {
    parser.feed(bytes(stream).subspan(i, 1));
    while (auto f = parser.next()) got.emplace_back(i + 1, std::move(*f));
  }
  ASSERT_EQ(got.size(), 3u);
  // Each is there with its last byte, and not before.
  EXPECT_EQ(got[0].first, 16u + 7 + 7);
  EXPECT_EQ(got[1].first, got[0].first + 16 + 2);
  EXPECT_EQ(got[2].first, stream.size());
  EXPECT_EQ(text(got[0].second.payload), "payload");
  EXPECT_EQ(got[2].second.header, "{\"b\":2}");
}

TEST(Frame, CutAnywhere) {
  std::string stream = encoded("{\"a\":1}", "pay") + encoded("{\"bb\":2}", "load!");
  for (size_t cut = 0; cut <= stream.size(); cut++) {
    FrameParser parser;
    parser.feed(bytes(stream).first(cut));
    parser.feed({});
    parser.feed(bytes(stream).subspan(cut));
    auto frames = drain(parser);
    ASSERT_EQ(frames.size(), 2u) << cut;
    EXPECT_EQ(text(frames[0].payload), "pay");
    EXPECT_EQ(text(frames[1].payload), "load!");
  }
}

TEST(Frame, ManyInOneFeed) {
  std::string stream;
  for (int i = 0; i < 5000; i++)
    stream += encoded("{\"i\":" + std::to_string(i) + "}", std::string(static_cast<size_t>(i % 7), 'p'));
  FrameParser parser;
  parser.feed(bytes(stream + "CVS"));  // and the start of one more
  auto frames = drain(parser);
  ASSERT_EQ(frames.size(), 5000u);
  for (int i = 0; i < 5000; i++) {
    EXPECT_EQ(json::parse(frames[static_cast<size_t>(i)].header)["i"], i);
    EXPECT_EQ(frames[static_cast<size_t>(i)].payload.size(), static_cast<size_t>(i % 7));
  }
  parser.feed(bytes(encoded("{}", "last").substr(3)));
  frames = drain(parser);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(text(frames[0].payload), "last");
}

TEST(Frame, EveryWrongBytePutInTheMagicIsSeenAtOnce) {
  std::string good = encoded("{}", "x");
  for (size_t at = 0; at < 4; at++)
    for (int v = 0; v < 256; v++) {
      std::string bad = good;
      bad[at] = static_cast<char>(v);
      bool same = bad == good;
      EXPECT_EQ(refusal(bad.substr(0, at + 1)), same ? "" : "the stream holds something that is no frame");
      EXPECT_EQ(refusal(bad).empty(), same);
    }
}

TEST(Frame, ImpossibleHeaderLengths) {
  const std::string impossible = "a frame's header length is impossible";
  for (uint64_t n :
       {uint64_t{0}, most_header_bytes + 1, uint64_t{0x7fffffff}, uint64_t{0x80000000}, uint64_t{0xffffffff}})
    EXPECT_EQ(refusal(frame_prefix(n, 0)), impossible) << n;
  EXPECT_EQ(refusal(frame_prefix(most_header_bytes, 0)), "");
  EXPECT_EQ(refusal(frame_prefix(1, 0)), "");
}

TEST(Frame, ImpossiblePayloadLengths) {
  const std::string impossible = "a frame's payload length is impossible";
  for (uint64_t n : {most_payload_bytes + 1, uint64_t{1} << 39, uint64_t{1} << 63, ~uint64_t{0}})
    EXPECT_EQ(refusal(frame_prefix(1, n)), impossible) << n;
  EXPECT_EQ(refusal(frame_prefix(1, 1001), 1000), impossible) << "the receiver's own limit";
  EXPECT_EQ(refusal(frame_prefix(1, 1000), 1000), "");
  uint64_t available = available_host_memory();
  if (available < most_payload_bytes) {
    EXPECT_EQ(refusal(frame_prefix(1, available)), "a frame's payload does not fit into memory");
  }
}

TEST(Frame, LengthsAreCheckedWhenThePrefixIsWhole) {
  std::string prefix = frame_prefix(0, 0);
  FrameParser parser;
  parser.feed(bytes(prefix).first(15));
  EXPECT_THROW(parser.feed(bytes(prefix).subspan(15)), FrameError);
}

// A prefix may announce gigabytes; only what has come is held.
TEST(Frame, ALyingLengthCostsNothing) {
  uint64_t announced = std::min(available_host_memory() / 4, most_payload_bytes);
  std::vector<FrameParser> parsers(64);  // together more than the machine has
  for (auto& p : parsers) p.feed(bytes(frame_prefix(most_header_bytes, announced) + "{}"));
  for (auto& p : parsers) {
    EXPECT_FALSE(p.next());
    p.feed(bytes(std::string(100, ' ')));
  }
}

TEST(Frame, AfterAFaultEveryFeedIsRefused) {
  FrameParser parser;
  parser.feed(bytes(encoded("{}", "")));
  EXPECT_THROW(parser.feed(bytes("XXXX")), FrameError);
  EXPECT_THROW(parser.feed(bytes(encoded("{}", ""))), FrameError);
  EXPECT_EQ(drain(parser).size(), 1u) << "what was whole before stays";
}

TEST(Header, MustBeAnObjectOfLittleDepth) {
  auto said = [](const std::string& s) { return test::error_of<FrameError>([&] { parse_header(s); }); };
  EXPECT_EQ(parse_header("{\"a\":[1,{\"b\":null}]}")["a"][0], 1);
  const std::string no_object = "a frame's header is no JSON object";
  for (const char* s :
       {"", "[]", "1", "null", "\"x\"", "{", "{}}", "{\"a\":}", "{'a':1}", "{\"a\":1,}", "\xff{}", "{\"\xff\":1}"})
    EXPECT_EQ(said(s), no_object) << s;
  auto nested = [](int depth) {  // an object counts as one
    std::string s = "{\"a\":";
    for (int i = 1; i < depth; i++) s += '[';
    s += "1";
    for (int i = 1; i < depth; i++) s += ']';
    return s + "}";
  };
  EXPECT_EQ(said(nested(most_header_depth - 1)), "");
  EXPECT_EQ(said(nested(most_header_depth + 2)), "a frame's header is nested too deep");
  // Deep enough to overflow the stack of whoever copies or prints it.
  EXPECT_EQ(said(nested(1000000)), "a frame's header is nested too deep");
  EXPECT_NE(said(std::string(1000000, '[')), "");
}

TEST(Header, TextIsAlwaysUtf8) {
  EXPECT_EQ(header_text({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
  EXPECT_EQ(header_text({{"a", "é"}}), "{\"a\":\"é\"}");
  EXPECT_EQ(header_text(json::object()).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace convscope
