#include "app/ui/platform/picture_file.h"

#include <png.h>
#include <stdexcept>

#include "app/model/settings.h"

namespace convscope::ui {

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
