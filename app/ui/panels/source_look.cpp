#include "app/ui/panels/source_look.h"

namespace convscope::ui {

TextEditor::Palette source_palette(const Theme& t) {
  using C = TextEditor::Color;
  TextEditor::Palette p = t.light ? TextEditor::GetLightPalette() : TextEditor::GetDarkPalette();
  auto set = [&](C c, const ImVec4& colour, float alpha = 1) { p[static_cast<size_t>(c)] = packed(colour, alpha); };
  set(C::text, t.text), set(C::identifier, t.text), set(C::knownIdentifier, t.floor), set(C::punctuation, t.text, 0.8f);
  set(C::keyword, t.accent), set(C::declaration, t.floor), set(C::preprocessor, t.floor);
  set(C::number, t.right), set(C::string, t.warning), set(C::comment, t.dim);
  set(C::background, t.background), set(C::cursor, t.text), set(C::selection, t.accent, 0.35f),
      set(C::whitespace, t.border);
  set(C::lineNumber, t.dim, 0.8f), set(C::currentLineNumber, t.text);
  set(C::currentLineHighlight, t.text, 0), set(C::currentLineHighlightBorder, t.text, 0);
  set(C::matchingBracketBackground, t.accent, 0.25f), set(C::matchingBracketActive, t.dim);
  return p;
}

// CUDA in a Python file is in a string, which is not to be seen as one.
const TextEditor::Language* source_language(const std::string& file) {
  static const TextEditor::Language embedded = [] {
    TextEditor::Language l = *TextEditor::Language::Cpp();
    l.hasDoubleQuotedStrings = false;
    for (const char* word : {"import", "from", "def", "self", "None", "True", "False"}) l.keywords.insert(word);
    return l;
  }();
  return file.ends_with(".py") ? &embedded : TextEditor::Language::Cpp();
}

}  // namespace convscope::ui
