// The parts of which bring_outside() is made, for what compiles a file in another form (edited.h).
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/base/activity.h"
#include "kernels/runtime/compile/workshop.h"

namespace convscope {

// A file's name as source_line() says it.
inline std::string noted_name(std::string name) {
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

const std::vector<std::string>& common_flags();

// Objects that are linked to every file, or to every one with host code: compiled once for these headers and flags,
// which are added to *print.
struct Objects {
  std::filesystem::path hooks, operations, traced_operations;
};
Objects shared_objects(const std::string& compiler, Fingerprint* print = nullptr);

// As the host compiler is given it, without what registers a kernel: keeps the lines.
std::string host_body(const std::string& cuda, const std::string& name);
// C++ that registers the kernels of a file. Errors: InputError.
std::string registration_of(const std::string& text, const std::string& cuda, const std::string& name);

// Compiles both modules of a file and puts them there. cuda: its own code, with its lines. Returns the compiler's
// warnings. Errors: CompileError, MissingError, Cancelled.
std::string make_modules(const std::string& source, const std::string& cuda, const std::string& file,
                         const std::string& text, const std::string& compiler, const std::filesystem::path& plain,
                         const std::filesystem::path& traced, const Objects& objects, Activity& activity);
// The kernels of a module, in no list. Errors: CompileError.
std::vector<KernelDefinition*> opened(const std::filesystem::path& module, bool traced, const std::string& file);
// Definitions as they are called where a file of this name and text was opened: the first like the file.
std::vector<KernelDefinition*> named(const std::vector<KernelDefinition*>& all, const std::string& name,
                                     const std::string& text);

}  // namespace convscope
