// Texts of nvdisasm and of PTX, line by line. Both may be anything: what is not understood is left out.
#include <cctype>
#include <charconv>
#include <map>

#include "profiling/disassembly/disassembly.h"

namespace convscope {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

template <class F>
void for_lines(std::string_view text, F each) {
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    each(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool number(std::string_view& s, uint64_t& value, int base = 10) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (error != std::errc()) return false;
  s.remove_prefix(static_cast<size_t>(end - s.data()));
  return true;
}

// //## File "/src/direct.cu", line 13 inlined at …
bool place_comment(std::string_view line, SourcePlace& at) {
  constexpr std::string_view begin = "//## File \"", middle = "\", line ";
  if (!line.starts_with(begin)) return false;
  line.remove_prefix(begin.size());
  size_t quote = line.find(middle);
  if (quote == std::string_view::npos) return false;
  std::string_view rest = line.substr(quote + middle.size());
  uint64_t n = 0;
  if (!number(rest, n) || n > INT32_MAX) return false;
  at = {std::string(line.substr(0, quote)), static_cast<int>(n)};
  return true;
}

// /*0130*/ @P0 EXIT ;
bool instruction(std::string_view line, SassInstruction& out) {
  if (!line.starts_with("/*")) return false;
  line.remove_prefix(2);
  if (!number(line, out.offset, 16) || !line.starts_with("*/")) return false;
  line = trimmed(line.substr(2));
  while (!line.empty() && (line.back() == ';' || line.back() == ' ')) line.remove_suffix(1);
  out.text = line;
  return !line.empty();
}

}  // namespace

std::vector<SassInstruction> parse_sass(std::string_view printed, const std::string& function) {
  std::vector<SassInstruction> list;
  bool inside = false;
  const std::string begin = ".text." + function + ":";
  std::string label;
  SourcePlace at;
  for_lines(printed, [&](std::string_view line) {
    if (line == begin) {
      inside = true;
      label.clear(), at = {};
      return;
    }
    if (!inside || line.empty()) return;
    if (line.starts_with("//---") || line.starts_with(".section")) {
      inside = false;
      return;
    }
    SassInstruction i;
    if (place_comment(line, at)) return;
    if (instruction(line, i)) {
      i.label = std::exchange(label, "");
      i.at = at;
      list.push_back(std::move(i));
    } else if (line.back() == ':' && line.front() != '/') {
      label = line.substr(0, line.size() - 1);
    }
  });
  return list;
}

std::vector<PtxLine> parse_ptx(std::string_view module, const std::string& function) {
  // Files have numbers, which are said anywhere in the text.
  std::map<uint64_t, std::string> files;
  for_lines(module, [&](std::string_view line) {
    uint64_t n = 0;
    if (!line.starts_with(".file")) return;
    line.remove_prefix(5);
    line = trimmed(line);
    if (!number(line, n)) return;
    size_t open = line.find('"'), close = line.rfind('"');
    if (open != close) files[n] = line.substr(open + 1, close - open - 1);
  });
  std::vector<PtxLine> list;
  bool inside = false, body = false;
  int depth = 0;
  SourcePlace at;
  for_lines(module, [&](std::string_view line) {
    if (!inside) {
      size_t entry = line.find(".entry ");
      if (entry == std::string_view::npos) return;
      std::string_view name = trimmed(line.substr(entry + 7));
      if (name.substr(0, std::min(name.find('('), name.size())) != function || !list.empty()) return;
      inside = true;
    }
    if (line.starts_with(".loc")) {
      std::string_view rest = trimmed(line.substr(4));
      uint64_t file = 0, n = 0;
      // Line 0 is nobody's: what stands there belongs to what was before.
      if (number(rest, file) && (rest = trimmed(rest), number(rest, n)) && n > 0 && n <= INT32_MAX)
        at = {files.contains(file) ? files[file] : "", static_cast<int>(n)};
      return;
    }
    for (char c : line) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      body |= c == '{';
    }
    if (!line.empty()) list.push_back({std::string(line), body ? at : SourcePlace{}});
    if (body && depth <= 0) inside = false;
  });
  return list;
}

}  // namespace convscope
