#include "app/ui/fonts.h"

extern "C" {
extern const unsigned char convscope_font_text_begin[], convscope_font_text_end[];
extern const unsigned char convscope_font_bold_begin[], convscope_font_bold_end[];
extern const unsigned char convscope_font_code_begin[], convscope_font_code_end[];
}

namespace convscope::ui {

static FontFile file(const unsigned char* begin, const unsigned char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}
const FontFile font_text = file(convscope_font_text_begin, convscope_font_text_end);
const FontFile font_bold = file(convscope_font_bold_begin, convscope_font_bold_end);
const FontFile font_code = file(convscope_font_code_begin, convscope_font_code_end);

}  // namespace convscope::ui
