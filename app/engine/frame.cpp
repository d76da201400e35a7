#include "app/engine/frame.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/problem/tensor.h"

namespace convscope {
using nlohmann::json;

std::string frame_prefix(size_t header_bytes, uint64_t payload_bytes) {
  std::string s(frame_magic, 4);
  for (int i = 0; i < 4; i++) s += static_cast<char>(header_bytes >> 8 * i & 255);
  for (int i = 0; i < 8; i++) s += static_cast<char>(payload_bytes >> 8 * i & 255);
  return s;
}

json parse_header(const std::string& text) {
  bool too_deep = false;
  json j = json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) {
        too_deep |= depth > most_header_depth;
        return depth <= most_header_depth;
      },
      false);
  if (too_deep) throw FrameError("a frame's header is nested too deep");
  if (!j.is_object()) throw FrameError("a frame's header is no JSON object");
  return j;
}

std::string header_text(const json& header) { return header.dump(-1, ' ', false, json::error_handler_t::replace); }

void FrameParser::feed(std::span<const std::byte> bytes) {
  auto take = [&](size_t want) {
    auto part = bytes.first(std::min(want, bytes.size()));
    bytes = bytes.subspan(part.size());
    return part;
  };
  while (!bytes.empty()) {
    if (!in_body_) {
      auto part = take(frame_prefix_bytes - prefix_.size());
      prefix_.insert(prefix_.end(), part.begin(), part.end());
      if (std::memcmp(prefix_.data(), frame_magic, std::min<size_t>(4, prefix_.size())) != 0)
        throw FrameError("the stream holds something that is no frame");
      if (prefix_.size() < frame_prefix_bytes) return;
      start_body();
      continue;  // a header has at least one byte
    }
    auto header = take(header_bytes_ - current_.header.size());
    current_.header.append(reinterpret_cast<const char*>(header.data()), header.size());
    auto& payload = current_.payload;
    auto part = take(payload_bytes_ - payload.size());
    // Doubling, but never beyond what was announced.
    if (payload.size() + part.size() > payload.capacity())
      payload.reserve(std::min<size_t>(payload_bytes_, std::max(2 * payload.capacity(), payload.size() + part.size())));
    payload.insert(payload.end(), part.begin(), part.end());
    if (current_.header.size() == header_bytes_ && payload.size() == payload_bytes_) {
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
  if (payload > (1 << 20) && payload > available_host_memory() / 2)
    throw FrameError("a frame's payload does not fit into memory");
  header_bytes_ = header, payload_bytes_ = payload;
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
