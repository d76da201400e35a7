// An engine that computes nothing and ends with an answer that says so. usage: fake_engine leave|linger|slow FRAMES
// [KIND]
//   leave   ends once the answer is written, as the real one does
//   linger  stays, and takes requests that it will never answer
//   slow    takes requests for some time more, and then ends
// FRAMES: which of its answers is the last; those before it are plain ones. KIND: result (the default) or error.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

#include "app/engine/frame.h"

using namespace convscope;
using nlohmann::json;

namespace {

void write_all(const std::string& s) {
  for (size_t at = 0; at < s.size();) {
    ssize_t n = write(STDOUT_FILENO, s.data() + at, s.size() - at);
    if (n <= 0) _exit(1);
    at += static_cast<size_t>(n);
  }
}

void send(const json& header) {
  std::string text = header_text(header);
  write_all(frame_prefix(text.size(), 0) + text);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "leave", kind = argc > 3 ? argv[3] : "result";
  int left = argc > 2 ? std::atoi(argv[2]) : 1;
  write_all(hello_marker);
  send({{"type", "hello"}, {"protocol", protocol_version}, {"pid", static_cast<int>(getpid())}});
  FrameParser parser;
  std::vector<std::byte> buffer(1 << 16);
  for (ssize_t n; (n = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;) {
    parser.feed({buffer.data(), static_cast<size_t>(n)});
    while (auto f = parser.next()) {
      json request = parse_header(f->header);
      if (left <= 0) continue;
      left--;
      json answer = {{"id", request["id"]}, {"type", left ? "result" : kind}, {"pid", static_cast<int>(getpid())}};
      if (left == 0) answer["engine_ends"] = true;
      if (answer["type"] == "error") answer["code"] = "crashed", answer["message"] = "planted", answer["exit_code"] = 4;
      send(answer);
      if (left == 0 && mode == "leave") _exit(3);
      if (left == 0 && mode == "slow") std::thread([] { usleep(20'000), _exit(3); }).detach();
    }
  }
}
