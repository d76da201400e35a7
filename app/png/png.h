// Pictures as PNG, for the command line's reports and the window's screenshots.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace convscope {

// rgb: width · height pixels of three bytes, the top row first. Errors: std::runtime_error with libpng's reason.
std::string png_bytes(std::span<const uint8_t> rgb, int width, int height);

}  // namespace convscope
