// What travels between a client and its engine: a JSON header and raw bytes (PROTOCOL.md).
#pragma once
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace convscope {

inline constexpr int protocol_version = 1;

// What an engine says first. A client skips everything before it: the banner of an ssh server, say.
inline constexpr char hello_marker[] = "\nCONVSCOPE-ENGINE\n";
inline constexpr size_t most_banner_bytes = 64 << 10;

inline constexpr char frame_magic[4] = {'C', 'V', 'S', '1'};
inline constexpr size_t frame_prefix_bytes = 16;
inline constexpr uint64_t most_header_bytes = 16 << 20;
inline constexpr uint64_t most_payload_bytes = uint64_t{1} << 38;
inline constexpr int most_header_depth = 32;  // of objects and lists in each other: code that walks them recurses

struct Frame {
  std::string header;  // a JSON object
  std::vector<std::byte> payload;
};

// The stream holds something that is no frame: nothing after it can be trusted.
class FrameError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The 16 bytes before the header: magic, header length (u32), payload length (u64), little-endian.
std::string frame_prefix(size_t header_bytes, uint64_t payload_bytes);

// Errors: FrameError when it is no JSON object, or nested deeper than most_header_depth.
nlohmann::json parse_header(const std::string& text);
// What is no UTF-8 in it (a file's name, a kernel's words) is replaced and not refused.
std::string header_text(const nlohmann::json& header);

// Takes bytes as they come and gives whole frames. Checks every length before it allocates, and allocates as the bytes
// come, so that a length that lies costs nothing.
class FrameParser {
 public:
  // most_payload: what this end is ready to hold.
  explicit FrameParser(uint64_t most_payload = most_payload_bytes) : most_payload_(most_payload) {}

  // Errors: FrameError.
  void feed(std::span<const std::byte> bytes);
  // The next whole frame, in order.
  std::optional<Frame> next();

 private:
  void start_body();
  uint64_t most_payload_;
  std::vector<std::byte> prefix_;
  Frame current_;
  size_t header_bytes_ = 0, payload_bytes_ = 0;  // of the frame that comes in
  bool in_body_ = false;
  std::vector<Frame> done_;
  size_t taken_ = 0;
};

}  // namespace convscope
