// Pictures as PNG files.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace convscope::ui {

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // top row first
};

// The pixels [x0, x1) × [y0, y1) that are inside the picture.
Picture cropped(const Picture& picture, int x0, int y0, int x1, int y1);

// Written beside and renamed. Errors: std::runtime_error with the system's reason.
void write_png(const std::string& path, const Picture& picture);

}  // namespace convscope::ui
