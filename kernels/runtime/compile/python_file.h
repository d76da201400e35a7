// A Python text as it is followed: its statements, its functions and classes, the module that is meant.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/runtime/compile/python_syntax.h"

namespace convscope::host {

struct PythonFile {
  std::string text;
  std::vector<PythonStatement> statements;
  std::map<std::string, const PythonStatement*> definitions;  // functions and classes
  // The outer statements that bind, or change, each name.
  std::map<std::string, std::vector<const PythonStatement*>> bound;
  std::map<std::string, std::string> imports;  // what a name is of another file
};

// Of a class, or of one of the file's that it is made from; null: it has none of that name.
const PythonStatement* method_of(const PythonFile& f, const PythonStatement* type, const std::string& name,
                                 int deep = 0);
// The class that has this very function as its own; null: none.
const PythonStatement* class_of(const PythonFile& f, const PythonStatement* method);
bool is_decorated(const PythonStatement& s, const char* by);                    // @by, @a.by, @by(…)
bool has_fields(const PythonStatement& type);                                   // a dataclass, a NamedTuple
bool is_autograd(const PythonStatement& type);                                  // a torch.autograd.Function
bool is_layer(const PythonFile& f, const PythonStatement& type, int deep = 0);  // made from nn.ConvTranspose1d
// ModelNew where there is one, else the last class that has a forward(); Model, which is compared with, where there is
// no other. Null where there is none.
const PythonStatement* module_of(const PythonFile& f);
// What a target, or what statements bind, also further in, but in functions and classes of their own.
void names_bound(const PythonExpression& target, std::set<std::string>& names);
void names_bound(const std::vector<PythonStatement>& all, std::set<std::string>& names);
// a of a.b[c].d(); "": it begins with no name.
std::string root_of(const PythonExpression& e);
// The last few texts are kept: a plan is made again and again of one.
std::shared_ptr<const PythonFile> python_file(const std::string& text);

}  // namespace convscope::host
