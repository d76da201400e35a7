#include "app/png/png.h"

#include <png.h>
#include <stdexcept>

namespace convscope {

std::string png_bytes(std::span<const uint8_t> rgb, int width, int height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  auto write = [&](void* to) {
    if (!png_image_write_to_memory(&image, to, &size, 0, rgb.data(), 0, nullptr))
      throw std::runtime_error(std::string("PNG: ") + image.message);
  };
  write(nullptr);  // how many bytes
  std::string bytes(size, '\0');
  write(bytes.data());
  bytes.resize(size);
  return bytes;
}

}  // namespace convscope
