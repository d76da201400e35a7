// A picture file as a person sees it: how large, and whether there is anything on it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace convscope::test {

struct PngPicture {
  int width = 0, height = 0;
  std::vector<uint32_t> pixels;  // 0xRRGGBB

  size_t colours() const;                           // how many different ones
  double largest_share() const;                     // of the most frequent one
  double mean_lightness() const;                    // 0…1
  double differing(const PngPicture& other) const;  // share of pixels
  // Text alone gives dozens of shades of anti-aliasing, an empty window a handful.
  bool blank() const { return colours() < 48 || largest_share() > 0.997; }
};

// Throws std::runtime_error with libpng's reason.
PngPicture read_png(const std::string& path);
void write_png(const std::string& path, const PngPicture& picture);

}  // namespace convscope::test
