#include "kernels/runtime/compile/tuning_changes.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>

#include "kernels/base/text.h"
#include "kernels/runtime/compile/global_functions.h"
#include "kernels/runtime/compile/host_functions.h"
#include "kernels/runtime/compile/launch_lines.h"
#include "kernels/runtime/compile/python_source.h"

namespace convscope {
namespace {

constexpr int64_t most_threads = 1024;  // of a block (CUDA C++ Programming Guide, compute capabilities)
// A literal from here on is taken for a size wherever it stands; smaller ones have many meanings.
constexpr int64_t least_size = 16;
constexpr int64_t largest_knob = 4096;  // what is larger is a capacity, or a bound

struct Replaced {
  size_t begin, end;
  std::string by;
};

std::string with(const std::string& text, std::vector<Replaced> all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::string out;
  size_t at = 0;
  for (const auto& r : all) out.append(text, at, r.begin - at).append(r.by), at = r.end;
  return out.append(text, at);
}

bool blank(char c) { return c == ' ' || c == '\t'; }

// The text with all that is no CUDA as blanks, at the same places: comments but for `convscope:` ones, literals. Of a
// Python file what is outside of its source too, but for lines that give a number to a name.
std::string visible(const std::string& text, const std::string& name) {
  std::string code = text;
  std::vector<bool> in_source;  // by line
  const bool python = name.ends_with(".py");
  if (python) {
    std::string cuda;
    try {
      cuda = cuda_of_python(text, name);
    } catch (const SourceNotKnown&) {
      return std::string(text.size(), ' ');
    }
    for (size_t at = 0; at < cuda.size();) {
      const size_t end = std::min(cuda.find('\n', at), cuda.size());
      in_source.push_back(cuda.find_first_not_of(" \t\r", at) < end);
      at = end + 1;
    }
  }
  static const std::regex number_of_name(R"(^[A-Za-z_]\w*\s*=\s*\d+\s*(#.*)?$)");
  size_t line_begin = 0;
  for (size_t n = 0; line_begin < text.size(); n++) {
    const size_t end = std::min(text.find('\n', line_begin), text.size());
    if (python && (n >= in_source.size() || !in_source[n])) {
      const std::string line = text.substr(line_begin, end - line_begin);
      if (line.size() > 200 || !std::regex_match(line, number_of_name))
        std::fill(code.begin() + static_cast<std::ptrdiff_t>(line_begin),
                  code.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
    line_begin = end + 1;
  }
  auto wipe = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, code.size()); i++)
      if (code[i] != '\n') code[i] = ' ';
  };
  for (size_t i = 0; i < code.size(); i++) {
    const std::string_view rest = std::string_view(code).substr(i);
    if (rest.starts_with("//")) {
      const size_t end = std::min(code.find('\n', i), code.size());
      if (std::string_view(code).substr(i, end - i).find("convscope:") == std::string_view::npos)
        wipe(i, end);
      else
        wipe(i, i + 2);
      i = end;
    } else if (rest.starts_with("/*")) {
      const size_t end = code.find("*/", i + 2);
      wipe(i, end == code.npos ? code.size() : end + 2);
    } else if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) {
      wipe(i, i + 3), i += 2;
    } else if (rest[0] == '"') {
      size_t end = i + 1;
      while (end < code.size() && code[end] != '"' && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
      wipe(i, end + 1), i = end;
    }
  }
  return code;
}

// ---- numbers

struct Number {
  size_t begin, end;
  int64_t value = 0;
  bool minus_one = false;  // stands behind a +, as what is rounded up by
  bool launch = false;     // in a launch, a dim3, the arguments of a launched template
  bool line = false;       // in a `convscope: launch` line
  std::string named = {};  // what it is the value of
  bool told() const { return launch || line; }
};

// Whether a place stands in brackets behind a head, at any depth.
bool between(const std::string& code, size_t at, char opens, char closes, const std::regex& head) {
  int depth = 0;
  for (size_t i = at; i-- > 0;) {
    if (code[i] == ';' || code[i] == '{' || code[i] == '}') return false;
    if (code[i] == closes) depth++;
    if (code[i] != opens || depth-- > 0) continue;
    depth = 0;
    const size_t from = i > 60 ? i - 60 : 0;
    if (std::regex_search(code.substr(from, i - from), head)) return true;
  }
  return false;
}

// A name whose value begins here: `constexpr int TILE = `, `, P = ` of the same, `#define TILE `, `TILE = ` of Python.
// A small one of a variable is a count or a step.
std::string named_by(const std::string& code, size_t at, int64_t value) {
  const size_t line = code.rfind('\n', at ? at - 1 : 0) + 1;  // npos + 1: the first
  const std::string before = code.substr(line, at - line);
  if (before.size() > 300) return "";
  static const std::regex macro(R"(^\s*#\s*define\s+(\w+)\s+\(?\s*$)"), python(R"(^([A-Za-z_]\w*)\s*=\s*$)"),
      constant(
          R"((?:^|[\s;{(])(?:(?:static|constexpr|const|unsigned|inline)\s+)*(?:int|unsigned|size_t|long|auto|int64_t|int32_t|uint32_t|std::size_t|std::int64_t)\s+(?:\w+\s*=\s*\w+\s*,\s*)*(\w+)\s*=\s*$)");
  std::smatch m;
  for (const auto* r : {&macro, &python, &constant})
    if (std::regex_search(before, m, *r))
      return r == &constant && value < least_size && before.find("const") == before.npos ? "" : m[1].str();
  return "";
}

std::vector<Number> numbers_in(const std::string& code) {
  std::vector<std::pair<size_t, size_t>> launches, lines;
  for (const auto& l : launches_in(code)) launches.emplace_back(l.callee, l.config_end);
  static const std::string mark = "convscope:";
  for (size_t at = code.find(mark); at != code.npos; at = code.find(mark, at + 1))
    lines.emplace_back(at, std::min(code.find('\n', at), code.size()));
  auto in = [](const auto& ranges, size_t at) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const auto& r) { return at >= r.first && at < r.second; });
  };
  static const std::regex dim3_head(R"(\bdim3(\s+\w+)?\s*$)"), bounds_head(R"(__launch_bounds__\s*\(\s*$)");
  std::vector<Number> all;
  for (size_t i = 0; i < code.size(); i++) {
    if (!std::isdigit(static_cast<unsigned char>(code[i]))) continue;
    size_t end = i;
    while (end < code.size() && std::isdigit(static_cast<unsigned char>(code[end]))) end++;
    const bool part = (i > 0 && (is_word(code[i - 1]) || code[i - 1] == '.')) ||
                      (end < code.size() && (is_word(code[end]) || code[end] == '.'));
    Number n{.begin = i, .end = end};
    if (!part && end - i <= 5 && (code[i] != '0' || end - i == 1)) {
      std::from_chars(code.data() + i, code.data() + end, n.value);
      size_t before = i;
      while (before > 0 && blank(code[before - 1])) before--;
      n.minus_one = before > 0 && code[before - 1] == '+';
      n.line = in(lines, i);
      n.launch = in(launches, i) || between(code, i, '(', ')', dim3_head) ||
                 std::regex_search(code.substr(i > 40 ? i - 40 : 0, std::min<size_t>(i, 40)), bounds_head);
      n.named = named_by(code, i, n.value);
      all.push_back(n);
    }
    i = std::max(i, end - 1);
    while (i + 1 < code.size() && is_word(code[i + 1])) i++;
  }
  return all;
}

std::vector<int64_t> values_beside(int64_t v) {
  std::vector<int64_t> all;
  for (const int64_t other : {2 * v, v % 2 ? int64_t{0} : v / 2, 4 * v, v % 4 ? int64_t{0} : v / 4})
    if (other >= 1 && other <= std::max<int64_t>(most_threads, v)) all.push_back(other);
  return all;
}

class Changes {
 public:
  Changes(const std::string& text, std::string code) : text_(text), code_(std::move(code)), plain_(code_) {
    for (size_t at = 0; at < plain_.size();) {
      const size_t end = std::min(plain_.find('\n', at), plain_.size()), first = plain_.find_first_not_of(" \t", at);
      if (first < end && (plain_[first] == '#' || plain_.substr(first, end - first).find("convscope:") != plain_.npos))
        std::fill(plain_.begin() + static_cast<std::ptrdiff_t>(at), plain_.begin() + static_cast<std::ptrdiff_t>(end),
                  ' ');
      at = end + 1;
    }
  }

  void add(const std::string& knob, std::string words, std::vector<Replaced> replaced, std::string only_for = "") {
    std::string changed = with(text_, std::move(replaced));
    if (changed == text_ || !seen_.insert(changed).second) return;
    all.push_back({knob, std::move(words), std::move(changed), std::move(only_for)});
  }

  void sizes();
  void pointers();
  void loops();
  void bounds();
  void narrow_indices();
  void constants_of(const ConvProblem& layer);

  std::vector<TuningChange> all;

 private:
  // from and its multiples; what is one less than it, or than one of these, stays so.
  std::vector<Replaced> scaled(const std::vector<Number>& numbers, int64_t from, int64_t to) const {
    std::vector<Replaced> r;
    for (const auto& n : numbers) {
      const bool less = n.minus_one && n.value % from == from - 1;
      const int64_t whole = n.value + less;
      r.push_back({n.begin, n.end, std::to_string(whole / from * to - less)});
    }
    return r;
  }
  int line_of(size_t at) const {
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  const std::string& text_;
  const std::string code_;
  std::string plain_;  // without lines of the preprocessor and of launches
  std::set<std::string> seen_;
};

// A size stands in several places: as the threads of a block and in the grid that is rounded up by it. So all places of
// a value are one knob, with those of one less behind a +, and with its multiples a second one; a name is a knob by
// itself, as what it stands for follows.
void Changes::sizes() {
  const std::vector<Number> numbers = numbers_in(code_);
  std::map<int64_t, std::vector<Number>> sizes;
  std::vector<Number> names;
  for (const auto& n : numbers) {
    if (n.value < 1 || n.value > largest_knob) continue;
    if (!n.named.empty()) names.push_back(n);
    // A small one is a size where it is said how a kernel is launched, and only there.
    if (n.told() ? n.value > 1 : n.value >= least_size && !n.named.empty()) sizes[n.value];
  }
  for (const auto& n : numbers)  // 127 of (n + 127) / 128
    if (auto it = sizes.find(n.value); it != sizes.end() && n.minus_one && sizes.contains(n.value + 1)) sizes.erase(it);
  for (auto& [size, places] : sizes)
    for (const auto& n : numbers) {
      const bool is = n.value == size && (n.told() || !n.named.empty() || size >= least_size);
      if (is || (n.value == size - 1 && size >= least_size && n.minus_one)) places.push_back(n);
    }
  std::set<std::string> once, twice;
  for (const auto& n : names)
    if (!once.insert(n.named).second) twice.insert(n.named);
  for (const auto& n : names) {
    const std::string knob =
        twice.contains(n.named) ? fmt::format("{} at line {}", n.named, line_of(n.begin)) : n.named;
    for (const int64_t to : values_beside(n.value))
      add(knob, fmt::format("{} {} → {}", knob, n.value, to), scaled({n}, n.value, to));
    // What a block does is as often told as a product: 256 positions are 64 threads with 4 each.
    for (const auto& [size, places] : sizes) {
      if (n.value < 2 || size <= n.value || size % n.value || size / n.value < 2) continue;
      std::vector<Number> both{n};
      for (const auto& other : places)
        if (other.told() && other.value == size) both.push_back(other);
      if (both.size() < 2) continue;
      const std::string with_size = fmt::format("{} and {}", knob, size);
      for (const int64_t to : values_beside(n.value))
        if (size / n.value * to <= largest_knob)
          add(with_size, fmt::format("{} {} → {}, {} → {}", knob, n.value, to, size, size / n.value * to),
              scaled(both, n.value, to));
    }
  }
  for (const auto& [size, places] : sizes) {
    const std::string knob = fmt::format("every {}", size);
    for (const int64_t to : values_beside(size)) add(knob, fmt::format("{} → {}", knob, to), scaled(places, size, to));
    // Where it is said how a kernel is launched, and not in the kernel: the width of a warp stays there.
    std::vector<Number> told;
    for (const auto& n : places)
      if (n.told() || n.minus_one || !n.named.empty()) told.push_back(n);
    const std::string launched = fmt::format("{} of the launch", size);
    if (told.size() < places.size())
      for (const int64_t to : values_beside(size))
        add(launched, fmt::format("{} → {}", launched, to), scaled(told, size, to));
    std::vector<Number> more = places;
    std::string others;
    for (const auto& [other, its] : sizes)
      if (size >= least_size && other > size && other % size == 0 && other / size <= 8) {
        more.insert(more.end(), its.begin(), its.end());
        others += fmt::format(", {}", other);
      }
    if (!others.empty())
      for (const int64_t to : values_beside(size))
        add(knob + others,
            fmt::format("{}{}: each {}", knob, others,
                        to > size ? fmt::format("{} times", to / size) : fmt::format("divided by {}", size / to)),
            scaled(more, size, to));
  }
}

// __restrict__ on every pointer of a kernel: the compiler may then load through the read-only path, and needs not load
// again behind a store (CUDA C++ Programming Guide, __restrict__).
void Changes::pointers() {
  std::vector<Replaced> r;
  for (const auto& f : global_functions(plain_)) {
    const size_t open = code_.rfind('(', f.head_end), close = code_.rfind(')', f.head_end);
    size_t begin = close;
    for (int depth = 0; close != code_.npos && begin != code_.npos && begin > f.begin; begin--) {
      depth += code_[begin] == ')';
      if (code_[begin] == '(' && --depth == 0) break;
    }
    if (open == code_.npos || close == code_.npos || begin >= close) continue;
    for (size_t i = begin; i < close; i++) {
      if (code_[i] != '*') continue;
      size_t next = i + 1;
      while (next < close && (blank(code_[next]) || code_[next] == '\n')) next++;
      if (next < close && is_word(code_[next]) && code_.compare(next, 10, "__restrict") != 0 &&
          code_.compare(next, 5, "const") != 0)
        r.push_back({i, i + 1, "* __restrict__"});
    }
    // "* __restrict__ x", also where it was "*x".
    for (auto& one : r)
      if (one.end < code_.size() && is_word(code_[one.end]) && !one.by.ends_with(' ')) one.by += ' ';
  }
  if (!r.empty()) add("__restrict__", "__restrict__ on every pointer of a kernel", r);
}

// Innermost loops of kernels and what they call.
void Changes::loops() {
  static const std::regex pragma(R"(^[ \t]*#[ \t]*pragma[ \t]+unroll[ \t]*\(?[ \t]*(\w*)[ \t]*\)?[ \t]*$)");
  std::vector<std::pair<size_t, size_t>> device;  // bodies
  static const std::regex on_device(R"(__(global|device)__)");
  for (std::sregex_iterator m(code_.begin(), code_.end(), on_device), none; m != none; ++m) {
    const size_t at = static_cast<size_t>(m->position());
    const size_t open = code_.find('{', at), end_of_declaration = code_.find(';', at);
    if (open == code_.npos || end_of_declaration < open) continue;
    const size_t end = closing(code_, open, '{', '}');
    if (end != code_.npos && (device.empty() || open > device.back().second)) device.emplace_back(open, end);
  }
  static const std::regex loop(R"(\bfor\s*\()");
  for (const auto& [from, to] : device) {
    std::vector<std::pair<size_t, size_t>> all;  // each with its end
    for (std::sregex_iterator m(code_.begin() + static_cast<std::ptrdiff_t>(from),
                                code_.begin() + static_cast<std::ptrdiff_t>(to), loop),
         none;
         m != none; ++m) {
      const size_t begin = from + static_cast<size_t>(m->position());
      const size_t head = closing(code_, code_.find('(', begin), '(', ')');
      if (head == code_.npos) continue;
      size_t body = head + 1;
      while (body < to && std::isspace(static_cast<unsigned char>(code_[body]))) body++;
      const size_t end = code_[body] == '{' ? closing(code_, body, '{', '}') : code_.find(';', body);
      if (end != code_.npos) all.emplace_back(begin, end);
    }
    for (size_t i = 0; i < all.size(); i++) {
      if (i + 1 < all.size() && all[i + 1].first < all[i].second) continue;
      const size_t line = code_.rfind('\n', all[i].first) + 1;
      if (code_.find_first_not_of(" \t", line) != all[i].first) continue;  // behind something else
      const std::string indent = text_.substr(line, all[i].first - line);
      size_t before = line ? code_.rfind('\n', line - 2) + 1 : 0;
      std::smatch has;
      const std::string above = line ? code_.substr(before, line - 1 - before) : "";
      const bool there = above.size() < 100 && std::regex_match(above, has, pragma);
      const std::string own = there ? has[1].str() : "none";
      const std::string knob = fmt::format("unroll of the loop at line {}", line_of(all[i].first));
      for (const char* to_value : {"4", "2", "8", "", "1"}) {
        if (own == to_value || (!there && *to_value == '1')) continue;
        const std::string written = fmt::format("{}#pragma unroll{}{}", indent, *to_value ? " " : "", to_value);
        const std::string words = fmt::format("the loop at line {} {}", line_of(all[i].first),
                                              *to_value == '\0'  ? "unrolled whole"
                                              : *to_value == '1' ? "not unrolled"
                                                                 : fmt::format("unrolled {} times", to_value));
        if (there)
          add(knob, words, {{before, line - 1, written}});
        else
          add(knob, words, {{line, line, written + "\n"}});
      }
    }
  }
}

// How many blocks a multiprocessor shall hold at least, which says how many registers a thread may have.
void Changes::bounds() {
  static const std::regex given(R"(__launch_bounds__\s*\(([^(),]+)(?:,\s*(\w+)\s*)?\))");
  for (std::sregex_iterator m(code_.begin(), code_.end(), given), none; m != none; ++m) {
    const size_t at = static_cast<size_t>(m->position());
    const std::string threads = (*m)[1].str(), blocks = (*m)[2].str();
    const std::string knob = fmt::format("bounds at line {}", line_of(at));
    for (const char* to : {"2", "4", "8", "3", "1"})
      if (blocks != to)
        add(knob, fmt::format("{}: at least {} block{} a multiprocessor", knob, to, *to == '1' ? "" : "s"),
            {{at, at + static_cast<size_t>(m->length()), fmt::format("__launch_bounds__({}, {})", threads, to)}});
  }
  if (std::regex_search(code_, given)) return;
  // Without them a thread has registers for blocks of 1,024 threads. A launch line says how many there are.
  static const std::regex line(R"(convscope:\s*launch\b[^\n]*\sblock=(\d+)(?=\s|$))");
  std::smatch m;
  if (!std::regex_search(code_, m, line)) return;
  std::vector<Replaced> r;
  for (const auto& f : global_functions(plain_)) {
    const size_t at = code_.find("__global__", f.begin);
    if (f.defines && at < f.head_end)
      r.push_back({at, at + 10, fmt::format("__global__ __launch_bounds__({})", m[1].str())});
  }
  if (!r.empty()) add("__launch_bounds__", fmt::format("__launch_bounds__({}) on every kernel", m[1].str()), r);
}

// Indices of 64 bits: divisions and products of them take several instructions of 32 bits each.
void Changes::narrow_indices() {
  static const std::regex wide(
      R"(\b(?:std::)?(?:int64_t|ptrdiff_t)\b|\blong\s+long(?:\s+int)?\b|\blong\b|\b(?:std::)?size_t\b)");
  std::vector<Replaced> r;
  for (const auto& f : global_functions(plain_)) {
    if (!f.defines || code_[f.head_end] != '{') continue;
    const size_t end = closing(code_, f.head_end, '{', '}');
    if (end == code_.npos) continue;
    const std::string body = code_.substr(f.head_end, end - f.head_end);
    for (std::sregex_iterator m(body.begin(), body.end(), wide), none; m != none; ++m) {
      const size_t at = f.head_end + static_cast<size_t>(m->position());
      r.push_back({at, at + static_cast<size_t>(m->length()), "int"});
    }
  }
  if (!r.empty()) add("indices", "indices of 32 bits", r, "tensors of fewer than 2³¹ elements");
}

// What a layer's parameters are, at the begin of each kernel: divisions by them become products and shifts, loops over
// taps get a length.
void Changes::constants_of(const ConvProblem& p) {
  const std::map<std::string, int64_t> values = {
      {"s", p.stride},  {"stride", p.stride},   {"K", p.kernel_size}, {"kernel_size", p.kernel_size},
      {"p", p.padding}, {"padding", p.padding}, {"d", p.dilation},    {"dilation", p.dilation},
      {"g", p.groups},  {"groups", p.groups}};
  std::vector<Replaced> r;
  std::set<std::string> told;
  for (const auto& f : global_functions(plain_)) {
    if (!f.defines || code_[f.head_end] != '{') continue;
    const size_t close = code_.rfind(')', f.head_end);
    size_t begin = close;
    for (int depth = 0; begin != code_.npos && begin > f.begin; begin--) {
      depth += code_[begin] == ')';
      if (code_[begin] == '(' && --depth == 0) break;
    }
    if (close == code_.npos || begin >= close) continue;
    std::string set;
    size_t at = begin + 1;
    for (const auto& parameter : list_parts(code_.substr(begin + 1, close - begin - 1))) {
      const size_t here = at;
      at += parameter.size() + 1;
      static const std::regex number(
          R"(^(\s*)((?:const\s+)?)(?:unsigned\s+)?(?:int|unsigned|int64_t|int32_t|long|long\s+long|size_t)\s+((?:const\s+)?)(\w+)\s*$)"),
          arguments(R"(^(\s*)((?:const\s+)?)ConvArgs\s+(\w+)\s*$)");
      std::smatch m;
      if (std::regex_match(parameter, m, number)) {
        const auto value = values.find(usual_meaning(m[4].str(), false));
        if (value == values.end() || m[3].length()) continue;
        set += fmt::format(" {} = {};", m[4].str(), value->second);
        told.insert(value->first);
        if (m[2].length())
          r.push_back(
              {here + static_cast<size_t>(m.position(2)), here + static_cast<size_t>(m.position(2) + m.length(2)), ""});
      } else if (std::regex_match(parameter, m, arguments)) {
        for (const char* field : {"stride", "kernel_size", "padding", "dilation", "groups"})
          set += fmt::format(" {}.{} = {};", m[3].str(), field, values.at(field));
        if (m[2].length())
          r.push_back(
              {here + static_cast<size_t>(m.position(2)), here + static_cast<size_t>(m.position(2) + m.length(2)), ""});
      }
    }
    if (text_.compare(f.head_end + 1, set.size(), set) == 0) continue;  // there already
    if (!set.empty()) r.push_back({f.head_end + 1, f.head_end + 1, set});
  }
  if (r.empty()) return;
  add("constants of the layer", "the layer's parameters as constants", r,
      fmt::format("layers of stride {}, kernel size {}, padding {}, dilation {}, groups {}", p.stride, p.kernel_size,
                  p.padding, p.dilation, p.groups));
}

}  // namespace

std::vector<TuningChange> tuning_changes(const std::string& text, const std::string& name,
                                         const ConvProblem* for_layer) {
  Changes changes(text, visible(text, name));
  if (for_layer) changes.constants_of(*for_layer);
  changes.sizes();
  changes.pointers();
  changes.narrow_indices();
  changes.loops();
  changes.bounds();
  return std::move(changes.all);
}

}  // namespace convscope
