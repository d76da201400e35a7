#include "app/engine/frame.h"

#include <algorithm>
#include <cstring>

#include "kernels/problem/tensor.h"

namespace convscope {

std::string frame_prefix(size_t header_bytes, uint64_t payload_bytes) {
  std::string s(frame_magic, 4);
  for (int i = 0; i < 4; i++) s += static_cast<char>(header_bytes >> 8 * i & 255);
  for (int i = 0; i < 8; i++) s += static_cast<char>(payload_bytes >> 8 * i & 255);
  return s;
}

void FrameParser::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty() || (in_body_ && header_got_ == current_.header.size() && payload_got_ == current_.payload.size())) {
    auto take = [&](std::byte* to, size_t want) {
      size_t n = std::min(want, bytes.size());
      std::memcpy(to, bytes.data(), n);
      bytes = bytes.subspan(n);
      return n;
    };
    if (!in_body_) {
      size_t had = prefix_.size();
      prefix_.resize(frame_prefix_bytes);
      prefix_.resize(had + take(prefix_.data() + had, frame_prefix_bytes - had));
      if (std::memcmp(prefix_.data(), frame_magic, std::min<size_t>(4, prefix_.size())) != 0)
        throw FrameError("the stream holds something that is no frame");
      if (prefix_.size() < frame_prefix_bytes) return;
      start_body();
      continue;
    }
    if (header_got_ < current_.header.size())
      header_got_ += take(reinterpret_cast<std::byte*>(current_.header.data()) + header_got_, current_.header.size() - header_got_);
    else if (payload_got_ < current_.payload.size())
      payload_got_ += take(current_.payload.data() + payload_got_, current_.payload.size() - payload_got_);
    if (header_got_ == current_.header.size() && payload_got_ == current_.payload.size()) {
      done_.push_back(std::move(current_));
      current_ = {};
      prefix_.clear();
      in_body_ = false;
    }
  }
}

void FrameParser::start_body() {
  auto little = [&](size_t at, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= static_cast<uint64_t>(prefix_[at + static_cast<size_t>(i)]) << 8 * i;
    return v;
  };
  uint64_t header = little(4, 4), payload = little(8, 8);
  if (header == 0 || header > most_header_bytes) throw FrameError("a frame's header length is impossible");
  if (payload > std::min(most_payload_, most_payload_bytes)) throw FrameError("a frame's payload length is impossible");
  if (payload > available_host_memory() / 2) throw FrameError("a frame's payload does not fit into memory");
  current_.header.resize(header);
  current_.payload.resize(payload);
  header_got_ = payload_got_ = 0;
  in_body_ = true;
}

std::optional<Frame> FrameParser::next() {
  if (taken_ == done_.size()) {
    done_.clear();
    taken_ = 0;
    return std::nullopt;
  }
  return std::move(done_[taken_++]);
}

}  // namespace convscope
