#include "app/ui/picture_file.h"

#include <algorithm>
#include <png.h>
#include <stdexcept>

#include "app/model/settings.h"

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
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  if (!png_image_write_to_memory(&image, nullptr, &size, 0, picture.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + image.message);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + image.message);
  bytes.resize(size);
  write_file_safely(path, bytes);
}

}  // namespace convscope::ui
