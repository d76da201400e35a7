// The colours of a kernel's text.
#pragma once
#include <TextEditor.h>
#include <string>

#include "app/ui/theme.h"

namespace convscope::ui {

TextEditor::Palette source_palette(const Theme& t);
// By the file's name.
const TextEditor::Language* source_language(const std::string& file);

}  // namespace convscope::ui
