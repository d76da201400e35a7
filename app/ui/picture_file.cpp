#include "app/ui/picture_file.h"

#include <algorithm>

#include "app/png/png.h"
#include "kernels/base/safe_file.h"

namespace convscope::ui {

Picture cropped(const Picture& picture, int x0, int y0, int x1, int y1) {
  x0 = std::clamp(x0, 0, picture.width), x1 = std::clamp(x1, x0, picture.width);
  y0 = std::clamp(y0, 0, picture.height), y1 = std::clamp(y1, y0, picture.height);
  Picture out{x1 - x0, y1 - y0, {}};
  for (int y = y0; y < y1; y++) {
    auto row = picture.rgb.begin() + (static_cast<long>(y) * picture.width + x0) * 3;
    out.rgb.insert(out.rgb.end(), row, row + 3L * out.width);
  }
  return out;
}

void write_png(const std::string& path, const Picture& picture) {
  write_file_safely(path, png_bytes(picture.rgb, picture.width, picture.height));
}

}  // namespace convscope::ui
