// The kernels that a text declares and defines, found without a compiler.
#pragma once
#include <string>
#include <vector>

namespace convscope {

// Of one: from behind what ends the declaration before it.
struct GlobalFunction {
  size_t begin = 0, head_end = 0;               // where it begins; where its { or ; is
  std::string name, head, threads, parameters;  // head: template <…>, or ""; threads: the first argument of its
                                                // __launch_bounds__, or ""
  bool defines = false;
};

// In a text without comments and literals (code_of); what is not understood is left out.
std::vector<GlobalFunction> global_functions(const std::string& code);

// The namespaces around a place, "ns::inner::"; those without a name are left out.
std::string namespaces_at(const std::string& code, size_t place);

// The name that ends before a place but for blanks: where it is, and itself.
struct NameAt {
  size_t begin, end;
  std::string text;
};
NameAt name_before(const std::string& code, size_t at);

std::vector<std::string> template_parameters(const std::string& head);  // of template <…>, which is not empty

}  // namespace convscope
