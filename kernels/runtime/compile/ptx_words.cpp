#include "kernels/runtime/compile/ptx_words.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <regex>
#include <vector>

#include "kernels/runtime/compile/host_functions.h"

namespace convscope {
namespace {

struct NotKnown {};

std::string trimmed(const std::string& s) {
  const size_t from = s.find_first_not_of(" \t\n\r\\");
  return from == s.npos ? "" : s.substr(from, s.find_last_not_of(" \t\n\r\\") + 1 - from);
}

// At the commas or colons that no bracket holds; code: the text with literals as blanks.
std::vector<std::string> parts_of(const std::string& text, const std::string& code, char at) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t from = 0;
  for (size_t i = 0; i < text.size(); i++) {
    depth += code[i] == '(' || code[i] == '[' || code[i] == '{';
    depth -= code[i] == ')' || code[i] == ']' || code[i] == '}';
    if (code[i] != at || depth) continue;
    parts.push_back(text.substr(from, i - from));
    from = i + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

// What strings say that stand one behind the other.
std::string joined_strings(const std::string& text) {
  std::string all;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '"') {
      if (!std::isspace(static_cast<unsigned char>(text[i])) && text[i] != '\\') throw NotKnown{};  // a macro's name
      continue;
    }
    for (i++; i < text.size() && text[i] != '"'; i++) {
      if (text[i] != '\\') {
        all += text[i];
      } else if (++i < text.size()) {
        all += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
      }
    }
  }
  return all;
}

// One statement, by its parts between colons.
class Statement {
 public:
  explicit Statement(const std::vector<std::string>& sections) {
    for (size_t i = 1; i < std::min(sections.size(), size_t{3}); i++) add_operands(sections[i]);
    std::string body = joined_strings(sections[0]);
    body = std::regex_replace(body, std::regex("//[^\n]*"), "");
    // A generic address as one of shared memory, in registers of its own.
    static const std::regex converts(
        R"(^\s*\{?\s*\.reg\s+\.u64\s+([\w%]+)\s*;\s*cvta\.to\.shared\.u64\s+([\w%]+)\s*,\s*(%\d+)\s*;\s*cvt\.u32\.u64\s+(%\d+)\s*,\s*([\w%]+)\s*;\s*\}?\s*$)");
    if (std::smatch m; std::regex_match(body, m, converts) && m[1] == m[2] && m[1] == m[5]) {
      code_ = fmt::format("{} = static_cast<uint32_t>(::convscope::ptx::to_shared((const void*){}));", operand(m[4]),
                          operand(m[3]));
      return;
    }
    int depth = 0;
    std::string one;
    for (const char c : body) {
      if (c == '{' || c == '}') depth += c == '{' ? 1 : -1;
      const bool block = (c == '{' || c == '}') && trimmed(one).empty();
      if (c != ';' && !block) {
        one += c;
        continue;
      }
      if (c == ';') instruction(trimmed(one));
      one.clear();
    }
    if (!trimmed(one).empty()) instruction(trimmed(one));
  }
  const std::string& code() const { return code_; }

 private:
  void add_operands(const std::string& section) {
    const std::string code = code_of(section, true);
    if (trimmed(section).empty()) return;
    for (const std::string& part : parts_of(section, code, ',')) {
      static const std::regex form(R"re(^\s*(?:\[(\w+)\]\s*)?"([^"]*)"\s*\(([\s\S]*)\)\s*\\?\s*$)re");
      std::smatch m;
      if (!std::regex_match(part, m, form)) throw NotKnown{};
      const std::string expression = "(" + trimmed(m[3]) + ")";
      if (expression.find('#') != expression.npos || expression.find("\\\n") != expression.npos) throw NotKnown{};
      if (m[1].matched) named_["%[" + m[1].str() + "]"] = expression;
      operands_.push_back(expression);
    }
  }
  // %0, %[name], a number, a predicate of the statement's own.
  std::string operand(const std::string& given) const {
    const std::string s = trimmed(given);
    if (const auto known = named_.find(s); known != named_.end()) return known->second;
    static const std::regex number(R"(-?(?:0x[0-9a-fA-F]+|\d+)U?)");
    if (std::regex_match(s, number)) return s;
    if (std::find(predicates_.begin(), predicates_.end(), s) != predicates_.end()) return name_of(s);
    if (s.size() < 2 || s[0] != '%' || !std::all_of(s.begin() + 1, s.end(), [](char c) { return isdigit(c); }))
      throw NotKnown{};
    const size_t n = std::stoul(s.substr(1, 3));
    return n < operands_.size() ? operands_[n] : throw NotKnown{};
  }
  static std::string name_of(std::string predicate) {
    std::replace_if(
        predicate.begin(), predicate.end(), [](char c) { return !isalnum(static_cast<unsigned char>(c)); }, '_');
    return "convscope_" + predicate;
  }
  // {%0, %1} or %0.
  std::vector<std::string> several(const std::string& given) const {
    std::string s = trimmed(given);
    if (s.starts_with('{') && s.ends_with('}')) s = s.substr(1, s.size() - 2);
    std::vector<std::string> all;
    for (const std::string& one : parts_of(s, s, ',')) all.push_back(operand(one));
    return all;
  }
  static std::string list(const std::vector<std::string>& all) {
    std::string s;
    for (const std::string& one : all) s += (s.empty() ? "" : ", ") + one;
    return s;
  }
  // [%1 + 16]
  std::string address(const std::string& given, bool shared) const {
    std::string s = trimmed(given);
    if (!s.starts_with('[') || !s.ends_with(']')) throw NotKnown{};
    s = trimmed(s.substr(1, s.size() - 2));
    const size_t plus = s.find('+');
    const std::string of = operand(s.substr(0, plus)), off = plus == s.npos ? "0" : operand(s.substr(plus + 1));
    return fmt::format("(::convscope::ptx::{}({}) + {})", shared ? "shared_at" : "at", of, off);
  }
  static std::string words(const std::vector<std::string>& all) {
    std::string s;
    for (const std::string& one : all) s += (s.empty() ? "{" : ", ") + ("::convscope::ptx::word(" + one + ")");
    return s + "}";
  }

  void instruction(const std::string& given) {
    if (given.empty()) return;
    std::string text = given;
    static const std::regex own_register(R"(^\.reg\s+\.pred\s+([\w%]+)$)"), guard(R"(^@(!?)([\w%]+)\s+)");
    std::smatch m;
    if (std::regex_match(text, m, own_register)) {
      predicates_.push_back(m[1]);
      code_ += "bool " + name_of(m[1]) + " = false; ";
      return;
    }
    if (std::regex_search(text, m, guard)) {
      code_ += fmt::format("if ({}{}) ", m[1].str(), operand(m[2]));
      text = m.suffix();
    }
    const size_t end = text.find_first_of(" \t\n");
    code_ += "{ " + translated(text.substr(0, end), end == text.npos ? "" : trimmed(text.substr(end))) + " } ";
  }
  std::string translated(const std::string& name, const std::string& rest) const {
    auto is = [&](const char* begin) { return name.starts_with(begin); };
    const std::vector<std::string> given = rest.empty() ? std::vector<std::string>() : parts_of(rest, rest, ',');
    auto need = [&](size_t n) {
      if (given.size() != n) throw NotKnown{};
    };
    std::smatch m;
    static const std::regex moves(
        R"(^(ld|st)(?:\.volatile|\.relaxed\.gpu|\.weak)?(?:\.(global|shared|const|param))?((?:\.\w+(?:::\w+)*)*?)(?:\.v([24]))?\.([fubs])(8|16|32|64)$)");
    if (std::regex_match(name, m, moves)) {
      need(2);
      if (m[2] == "param" || (m[3].str().find("acquire") != std::string::npos)) throw NotKnown{};
      const bool loads = m[1] == "ld", shared = m[2] == "shared";
      const auto values = several(given[loads ? 0 : 1]);
      if (values.size() != (m[4].matched ? std::stoul(m[4]) : 1)) throw NotKnown{};
      const std::string bits = m[6], type = m[5] == "f" ? (bits == "32"   ? "float"
                                                           : bits == "64" ? "double"
                                                                          : throw NotKnown{})
                                                        : (m[5] == "s" ? "int" : "uint") + bits + "_t";
      return fmt::format("::convscope::ptx::{}<{}>({}, {});", loads ? "load" : "store", type,
                         address(given[loads ? 1 : 0], shared), list(values));
    }
    static const std::regex copies(R"(^cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::\w+)*$)");
    if (std::regex_match(name, copies)) {
      if (given.size() != 3 && given.size() != 4) throw NotKnown{};
      const std::string bytes = operand(given[2]);
      return fmt::format("__pipeline_memcpy_async({}, {}, {}{});", address(given[0], true), address(given[1], false),
                         bytes, given.size() == 4 ? fmt::format(", {} - {}", bytes, operand(given[3])) : "");
    }
    if (name == "cp.async.commit_group") return "__pipeline_commit();";
    if (name == "cp.async.wait_all") return "__pipeline_commit(); __pipeline_wait_prior(0);";
    if (name == "cp.async.wait_group") return need(1), fmt::format("__pipeline_wait_prior({});", operand(given[0]));
    static const std::regex tf32(R"(^mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.tf32\.tf32\.f32$)"),
        half(R"(^mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(f16|bf16)\.(f16|bf16)\.f32$)");
    if (std::regex_match(name, tf32) || std::regex_match(name, m, half)) {
      need(4);
      const auto d = several(given[0]), a = several(given[1]), b = several(given[2]), c = several(given[3]);
      if (d.size() != 4 || a.size() != 4 || b.size() != 2 || c.size() != 4 || (!m.empty() && m[1] != m[2]))
        throw NotKnown{};
      const std::string function = m.empty() ? "mma_tf32" : m[1] == "f16" ? "mma_16<__half>" : "mma_16<__nv_bfloat16>";
      return fmt::format("::convscope::ptx::{}({}, {}, {}, {});", function, list(d), words(a), words(b), list(c));
    }
    static const std::regex matrices(R"(^ldmatrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared(?:::cta)?\.b16$)");
    if (std::regex_match(name, m, matrices)) {
      need(2);
      const auto to = several(given[0]);
      if (to.size() != std::stoul(m[1])) throw NotKnown{};
      const std::string from = address(given[1], true);
      return fmt::format(
          "::convscope::ptx::load_matrices<{}>(reinterpret_cast<uint64_t>({}), ::convscope::simt::Site::current(), "
          "{});",
          m[2].matched, from, list(to));
    }
    if (name == "cvt.rna.tf32.f32")
      return need(2), fmt::format("::convscope::ptx::store<uint32_t>((char*)&{}, ::to_tf32({}));", operand(given[0]),
                                  operand(given[1]));
    if (name == "fma.rn.f32")
      return need(4), fmt::format("{} = __builtin_fmaf({}, {}, {});", operand(given[0]), operand(given[1]),
                                  operand(given[2]), operand(given[3]));
    static const std::regex sums(R"(^(add|sub|mul)(?:\.rn)?(?:\.ftz)?\.f32$)");
    if (std::regex_match(name, m, sums))
      return need(3), fmt::format("{} = {} {} {};", operand(given[0]), operand(given[1]),
                                  m[1] == "add"   ? "+"
                                  : m[1] == "sub" ? "-"
                                                  : "*",
                                  operand(given[2]));
    static const std::regex asks(R"(^setp\.(eq|ne|lt|le|gt|ge)\.[subf]32$)");
    if (std::regex_match(name, m, asks)) {
      need(3);
      static const std::map<std::string, const char*> signs = {{"eq", "=="}, {"ne", "!="}, {"lt", "<"},
                                                               {"le", "<="}, {"gt", ">"},  {"ge", ">="}};
      return fmt::format("{} = {} {} {};", operand(given[0]), operand(given[1]), signs.at(m[1]), operand(given[2]));
    }
    if (is("prefetch.global.L")) return ";";
    if (name == "mov.u32" && given.size() == 2 && trimmed(given[1]) == "%laneid")
      return fmt::format("{} = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;",
                         operand(given[0]));
    throw NotKnown{};
  }

  std::vector<std::string> operands_, predicates_;
  std::map<std::string, std::string> named_;
  std::string code_;
};

}  // namespace

std::string with_plain_ptx(const std::string& text) {
  const std::string code = code_of(text, true);
  static const std::regex begins(R"(\b(?:asm|__asm__)\s*(?:(?:volatile|__volatile__)\s*)*\()");
  std::string out;
  size_t done = 0;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), begins); it != std::sregex_iterator(); ++it) {
    const auto begin = static_cast<size_t>(it->position()), open = begin + static_cast<size_t>(it->length()) - 1;
    const size_t close = closing(code, open, '(', ')');
    if (close == code.npos || begin < done) continue;
    const std::string inside = text.substr(open + 1, close - open - 1);
    try {
      const Statement statement(parts_of(inside, code.substr(open + 1, close - open - 1), ':'));
      std::string breaks;
      for (size_t i = begin; i < close; i++)
        if (text[i] == '\n') breaks += i && text[i - 1] == '\\' ? "\\\n" : "\n";
      out += text.substr(done, begin - done) + "do { " + statement.code() + "} while (0)" + breaks;
      done = close + 1;
    } catch (const NotKnown&) {
    }
  }
  if (!done) return text;
  static const std::regex converts(R"(\b__cvta_generic_to_shared\b)");
  return std::regex_replace(out + text.substr(done), converts, "::convscope::ptx::to_shared");
}

}  // namespace convscope
