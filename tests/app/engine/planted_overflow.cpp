// A read beyond the end of a frame's payload.
#include <cstdio>

#include "app/engine/frame.h"

int main(int argc, char**) {
  std::string text = convscope::frame_prefix(2, 3) + "{}abc";
  convscope::FrameParser parser;
  parser.feed(std::as_bytes(std::span(text)));
  auto frame = parser.next();
  const volatile std::byte* payload = frame->payload.data();
  std::printf("%d\n", static_cast<int>(payload[frame->payload.size() + static_cast<size_t>(argc) - 1]));
}
