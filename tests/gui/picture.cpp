#include "tests/gui/picture.h"

#include <algorithm>
#include <png.h>
#include <stdexcept>
#include <unordered_map>

namespace convscope::test {

size_t PngPicture::colours() const {
  std::vector<uint32_t> all = pixels;
  std::sort(all.begin(), all.end());
  return static_cast<size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

double PngPicture::largest_share() const {
  std::unordered_map<uint32_t, size_t> counts;
  size_t most = 0;
  for (uint32_t p : pixels) most = std::max(most, ++counts[p]);
  return pixels.empty() ? 1 : static_cast<double>(most) / static_cast<double>(pixels.size());
}

double PngPicture::mean_lightness() const {
  double sum = 0;
  for (uint32_t p : pixels) sum += 0.2126 * (p >> 16 & 255) + 0.7152 * (p >> 8 & 255) + 0.0722 * (p & 255);
  return pixels.empty() ? 0 : sum / 255 / static_cast<double>(pixels.size());
}

double PngPicture::differing(const PngPicture& other) const {
  if (width != other.width || height != other.height) return 1;
  size_t n = 0;
  for (size_t i = 0; i < pixels.size(); i++) n += pixels[i] != other.pixels[i];
  return static_cast<double>(n) / static_cast<double>(pixels.size());
}

PngPicture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) throw std::runtime_error(path + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + image.message);
  PngPicture p{static_cast<int>(image.width), static_cast<int>(image.height), std::vector<uint32_t>(rgb.size() / 3)};
  for (size_t i = 0; i < p.pixels.size(); i++)
    p.pixels[i] = static_cast<uint32_t>(rgb[3 * i] << 16 | rgb[3 * i + 1] << 8 | rgb[3 * i + 2]);
  return p;
}

void write_png(const std::string& path, const PngPicture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width), image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> rgb;
  for (uint32_t p : picture.pixels)
    for (int shift : {16, 8, 0}) rgb.push_back(static_cast<uint8_t>(p >> shift));
  if (!png_image_write_to_file(&image, path.c_str(), 0, rgb.data(), 0, nullptr))
    throw std::runtime_error(path + ": " + image.message);
}

}  // namespace convscope::test
