#include "kernels/runtime/compile/host_functions.h"

#include <algorithm>
#include <cctype>
#include <regex>

#include "kernels/runtime/compile/launch_lines.h"

namespace convscope {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

size_t closing(std::string_view code, size_t open, char opens, char closes) {
  int depth = 0;
  for (size_t i = open; i < code.size(); i++) {
    depth += code[i] == opens;
    if (code[i] == closes && --depth == 0) return i;
  }
  return code.npos;
}

namespace {

bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

std::vector<HostFunction> plain_functions(const std::string& text, const std::string& code) {
  std::vector<HostFunction> all;
  std::vector<std::string> spaces;
  size_t from = 0;
  for (size_t i = 0; i < code.size(); i++) {
    if (code[i] == ';') from = i + 1;
    if (code[i] == '}') {
      if (!spaces.empty()) spaces.pop_back();
      from = i + 1;
    }
    if (code[i] != '{') continue;
    const std::string head = code.substr(from, i - from), short_head = with_short_blanks(head);
    static const std::regex space(R"(^\s*(?:inline\s+)?namespace\b\s*([\w:]*)\s*$)"),
        linkage(R"(^\s*extern\s*"\s*"\s*$)");
    std::smatch m;
    if (std::regex_match(short_head, m, space) || std::regex_match(short_head, linkage)) {
      spaces.push_back(m.size() > 1 && m[1].length() ? m[1].str() + "::" : "");
      from = i + 1;
      continue;
    }
    const size_t end = closing(code, i, '{', '}');
    if (end == code.npos) break;
    const size_t close = head.rfind(')');
    // An alignment or a base class may have brackets in it, too.
    static const std::regex no_function(
        R"(\b(__global__|__device__|PYBIND11_MODULE|TORCH_LIBRARY|TORCH_LIBRARY_IMPL)\b|^\s*(?:template\s*<[^{}]*>\s*)?(?:class|struct|union|enum)\b)");
    if (close != head.npos && !std::regex_search(short_head, no_function)) {
      size_t open = close;
      for (int depth = 0; open < head.size(); open--) {
        depth += head[open] == ')';
        if (head[open] == '(' && --depth == 0) break;
        if (!open) break;
      }
      size_t name_end = open;
      while (name_end > 0 && blank(head[name_end - 1])) name_end--;
      size_t name = name_end;
      while (name > 0 && is_word(head[name - 1])) name--;
      if (name < name_end && open < close) {
        std::string path;
        for (const auto& s : spaces) path += s;
        static const std::regex templated(R"(^\s*template\b)");
        all.push_back({path + head.substr(name, name_end - name), text.substr(from + open + 1, close - open - 1), from,
                       i, end, std::regex_search(short_head, templated), false});
      }
    }
    i = end, from = end + 1;
  }
  return all;
}

// A text that launches, or uses what does: of a function, a macro or a class.
struct Part {
  std::string name;
  std::string text;
  enum { function, macro, type } kind;
  bool launches;
};

// Whether a name that ends there is called, with arguments of a template or without.
bool is_called(std::string_view text, size_t end) {
  auto opens = [&](size_t i) {
    while (i < text.size() && blank(text[i])) i++;
    return i < text.size() && text[i] == '(';
  };
  if (opens(end)) return true;
  while (end < text.size() && blank(text[end])) end++;
  if (end >= text.size() || text[end] != '<') return false;
  const size_t rest = text.find_first_of(";{}", end);
  while ((end = text.find('>', end)) < rest)
    if (opens(++end)) return true;
  return false;
}

// Whether a text uses a function or what else has a name: of functions that they are called, of others that they are
// named.
bool uses(std::string_view text, const std::string& name, bool function) {
  for (size_t at = 0; (at = text.find(name, at)) != text.npos; at++) {
    const size_t end = at + name.size();
    if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
    if (!function || is_called(text, end)) return true;
  }
  return false;
}

// Functions in their order first, then macros and classes.
std::vector<Part> parts_of(const std::string& text, const std::string& code,
                           const std::vector<HostFunction>& functions) {
  std::vector<Part> all;
  for (const auto& f : functions)
    all.push_back({last_part(f.name), code.substr(f.body, f.end - f.body), Part::function, false});
  const std::string with_macros = code_of(text, true);
  static const std::regex define(R"(#define\s+(\w+))"),
      type(R"(\b(?:class|struct)\s+(?:(?:alignas|__align__)\s*\([^()]*\)\s*)?(\w+)\s*(?:final\s*)?(?::[^;{}()]*)?\{)");
  for (auto it = std::sregex_iterator(with_macros.begin(), with_macros.end(), define); it != std::sregex_iterator();
       ++it) {
    const auto begin = static_cast<size_t>(it->position() + it->length());
    size_t end = begin - 1;
    do end = std::min(with_macros.find('\n', end + 1), with_macros.size());
    while (end < with_macros.size() && with_macros[end - 1] == '\\');
    all.push_back({(*it)[1], with_macros.substr(begin, end - begin), Part::macro, false});
  }
  for (auto it = std::sregex_iterator(code.begin(), code.end(), type); it != std::sregex_iterator(); ++it) {
    const auto open = static_cast<size_t>(it->position() + it->length()) - 1;
    const size_t end = closing(code, open, '{', '}');
    if (end != code.npos) all.push_back({(*it)[1], code.substr(open, end - open), Part::type, false});
  }
  for (auto& part : all) part.launches = part.text.find("<<<") != part.text.npos;
  for (bool more = true; more;) {
    more = false;
    for (auto& part : all) {
      if (part.launches) continue;
      for (const auto& other : all)
        if (other.launches && uses(part.text, other.name, other.kind == Part::function)) {
          part.launches = more = true;
          break;
        }
    }
  }
  return all;
}

// Whether its parameters' names tell an input and weights.
bool takes_a_layer(const HostFunction& f) {
  bool x = false, w = false;
  for (const auto& p : parameters_of(f)) {
    const std::string m = usual_meaning(p.name, p.is_tensor() || p.is_pointer());
    x |= m == "x", w |= m == "w";
  }
  return x && w;
}

}  // namespace

std::string last_part(const std::string& name) {
  const size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

std::string code_of(std::string_view text, bool macros) {
  std::string out(text);
  auto hide = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, out.size()); i++)
      if (out[i] != '\n') out[i] = ' ';
  };
  bool line_begins = true;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (text.substr(i, 2) == "//") {
      const size_t end = std::min(text.find('\n', i), text.size());
      hide(i, end), i = end;
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      hide(i, end), i = end;
    } else if (c == '"' || (c == '\'' && (i == 0 || !is_word(text[i - 1])))) {
      size_t end = i + 1;
      while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      hide(i + 1, end), i = end + 1;
    } else if (c == '#' && line_begins) {
      size_t end = i;
      do end = std::min(text.find('\n', end + 1), text.size());
      while (end < text.size() && text[end - 1] == '\\');
      if (macros && text.substr(i + 1).substr(0, 6) == "define") {
        i += 7;
        continue;
      }
      hide(i, end), i = end;
    } else {
      if (c == '\n')
        line_begins = true;
      else if (!blank(c))
        line_begins = false;
      i++;
      continue;
    }
    line_begins = false;
  }
  return out;
}

std::string with_short_blanks(std::string_view code, bool keep_lines) {
  std::string out;
  for (const char c : code) {
    if (!blank(c) || (keep_lines && c == '\n'))
      out += c;
    else if (out.empty() || !blank(out.back()))
      out += ' ';
  }
  return out;
}

std::vector<LaunchSite> launches_in(std::string_view code) {
  std::vector<LaunchSite> all;
  for (size_t at = 0; (at = code.find("<<<", at)) != code.npos; at += 3) {
    size_t begin = at;
    while (begin > 0 && blank(code[begin - 1])) begin--;
    const size_t named = begin;  // where a name would end
    if (begin > 0 && code[begin - 1] == '>') {
      int depth = 0;
      do {
        begin--;
        depth += code[begin] == '>';
        depth -= code[begin] == '<';
      } while (depth && begin > 0);
    }
    auto over_name = [&] {
      while (begin > 0 && (is_word(code[begin - 1]) || code[begin - 1] == ':')) begin--;
    };
    // An element of a table, or (*pointer): back over its brackets, and over what it is a member of.
    while (begin > 0 && (code[begin - 1] == ']' || code[begin - 1] == ')')) {
      const char close = code[begin - 1], open = close == ']' ? '[' : '(';
      int depth = 0;
      do {
        begin--;
        depth += code[begin] == close;
        depth -= code[begin] == open;
      } while (depth && begin > 0);
      over_name();
      if (begin > 1 && code[begin - 1] == '.') begin--, over_name();
    }
    over_name();
    int depth = 0;
    size_t end = at + 3;
    for (; end < code.size(); end++) {
      depth += code[end] == '(' || code[end] == '{';
      depth -= code[end] == ')' || code[end] == '}';
      if (!depth && code.substr(end, 3) == ">>>") break;
    }
    if (begin < named && end < code.size()) all.push_back({begin, at, end});
  }
  return all;
}

std::vector<HostFunction> functions_in(const std::string& text) {
  const std::string code = code_of(text);
  auto all = plain_functions(text, code);
  const auto parts = parts_of(text, code, all);
  for (size_t i = 0; i < all.size(); i++) all[i].launches = parts[i].launches;
  return all;
}

std::vector<HostParameter> parameters_of(const HostFunction& f) {
  std::vector<HostParameter> list;
  for (std::string part : list_parts(f.parameters)) {
    const size_t equals = part.find('=');
    const bool has_default = equals != part.npos;
    part = part.substr(0, equals);
    while (!part.empty() && blank(part.back())) part.pop_back();
    if (part.empty() || part == "void") continue;
    size_t name = part.size();
    while (name > 0 && is_word(part[name - 1])) name--;
    list.push_back({part.substr(0, name), part.substr(name), has_default});
  }
  return list;
}

const HostFunction* entry_of(const std::vector<HostFunction>& all, const std::string& text,
                             const std::string& original) {
  const std::string code = code_of(text);
  auto launches = [](const HostFunction& f) { return f.launches && last_part(f.name) != "main"; };
  const HostFunction *last = nullptr, *backward = nullptr;
  bool last_known = false;
  static const std::regex named(R"re(functions\s*=\s*\[\s*["'](\w+)["'])re");
  std::smatch m;
  const std::string wanted = std::regex_search(original, m, named) ? m[1].str() : "";
  for (const auto& f : all) {
    if (!launches(f) || f.is_template) continue;
    if (!wanted.empty() && last_part(f.name) == wanted) return &f;
    const bool called = std::any_of(all.begin(), all.end(), [&](const HostFunction& other) {
      return &other != &f && launches(other) &&
             uses(std::string_view(code).substr(other.body, other.end - other.body), last_part(f.name), true);
    });
    if (called) continue;
    static const std::regex gradient(R"(grad|backward|bwd)", std::regex::icase);
    if (std::regex_search(last_part(f.name), gradient)) {
      backward = &f;
      continue;
    }
    const bool known = takes_a_layer(f);
    if (!last || known || !last_known) last = &f, last_known = known;
  }
  return last ? last : backward;
}

std::string where_it_launches(const std::string& text) {
  const std::string code = code_of(text);
  for (const auto& part : parts_of(text, code, plain_functions(text, code)))
    if (part.launches) return part.name;
  return "";
}

}  // namespace convscope
