// The functions in a text of host code, found without a compiler: which launch kernels, and which of them a caller
// would call. host_code.h calls it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// The text with comments, literals and preprocessor lines as blanks (of #define lines only where `macros` does not say
// otherwise): what is found there is code, at the same places.
std::string code_of(std::string_view text, bool macros = false);

// With one blank in the place of several (keep_lines: line breaks stay). For regular expressions: <regex> calls itself
// for each blank that it passes, and a long comment, which code_of() makes blanks of, would be more than a stack has.
std::string with_short_blanks(std::string_view code, bool keep_lines = false);

bool is_word(char c);  // of a name
// The bracket that closes the one at `open`, or npos.
size_t closing(std::string_view code, size_t open, char opens, char closes);

struct LaunchSite {
  size_t callee, arrows, config_end;  // of kernel<<<…>>>: where the kernel's name begins, <<<, >>>
};
std::vector<LaunchSite> launches_in(std::string_view code);

struct HostFunction {
  std::string name, parameters;
  size_t begin, body, end;  // of its text; of its braces
  bool is_template;
  bool launches;  // itself, or by functions, macros and classes that it uses
};

// Functions with a body that run on the host, at any depth of namespaces. Those of classes are not among them.
std::vector<HostFunction> functions_in(const std::string& text);

struct HostParameter {
  std::string type, name;
  bool has_default;
  bool is_tensor() const { return type.find("Tensor") != type.npos && type.find("Options") == type.npos; }
  bool is_pointer() const { return type.find('*') != type.npos; }
  bool is_list() const {
    return type.find("vector") != type.npos || type.find("ArrayRef") != type.npos || type.find("List") != type.npos;
  }
};
std::vector<HostParameter> parameters_of(const HostFunction& f);

// Which of the functions a caller would call: it launches, and none of these calls it. Python files name theirs
// (functions=[…]). Null where none does.
const HostFunction* entry_of(const std::vector<HostFunction>& all, const std::string& text,
                             const std::string& original);

// Where a text without such a function launches, in words: "Up", "go<…>()"; "" where that is in no braces.
std::string where_it_launches(const std::string& text);

std::string last_part(const std::string& name);  // of a::b::c: c

}  // namespace convscope
