// The fonts, embedded when the program is built.
#pragma once
#include <cstddef>

namespace convscope::ui {

struct FontFile {
  const unsigned char* data;
  size_t size;
};
extern const FontFile font_text, font_bold, font_code;

}  // namespace convscope::ui
