#include "kernels/runtime/compile/edited.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/for_layers.h"
#include "kernels/runtime/compile/host_code.h"
#include "kernels/runtime/compile/modules.h"
#include "kernels/runtime/compile/outside.h"

namespace convscope {
namespace {

// Lines of a file that a compiler has errors of, also where these are in what is called there.
std::set<int> lines_of_errors(const std::string& log, const std::string& file) {
  std::set<int> lines;
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(file + ":"))
      if (const int number = std::atoi(line.c_str() + file.size() + 1); number > 0) lines.insert(number);
  return lines;
}

}  // namespace

EditedFile open_edited(const std::string& name, const std::string& text, EditsOf what, Activity& activity) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string file = noted_name(name);
  if (differs_between_layers(text, file)) throw CompileError("its source is another one for each layer", "");
  const std::string cuda = cuda_source(text, file), registration = registration_of(text, cuda, file),
                    compiler = host_compiler();
  const Objects objects = shared_objects(compiler);
  const Workshop in;
  std::set<int> without;
  EditedFile out;
  constexpr int most_tries = 4;
  for (int tries = 0;; tries++) {
    out.sites = edit_sites(cuda, what, without);
    std::string source = host_body(out.sites.text, file) + registration;
    source.insert(source.find("#line 1 "), "#include \"convscope/edits.h\"\n");
    try {
      if (what == EditsOf::barriers) {
        const auto plain = in.path() / "edited.so", traced = in.path() / "edited-traced.so";
        make_modules(source, cuda, file, text, compiler, plain, traced, objects, activity);
        if (std::filesystem::exists(traced)) out.traced = named(opened(traced, true, file), name, text);
        break;
      }
      in.write("source.cu", source);
      std::vector<std::string> arguments = common_flags();
      // Not as fast as it could be: it is compiled to be run on small problems, and while somebody waits.
      for (const char* a :
           {"-O1", "-w", "-include", "convscope/outside.h", "-x", "c++", "-shared", "-o", "edited.so", "source.cu"})
        arguments.emplace_back(a);
      if (has_host_code(cuda)) arguments.insert(arguments.end(), {"-x", "none", objects.operations.string()});
      in.compile(compiler, arguments, file, activity);
      break;
    } catch (const CompileError& e) {
      const std::set<int> lines = lines_of_errors(e.log(), file);
      const size_t before = without.size();
      without.insert(lines.begin(), lines.end());
      if (without.size() == before || tries >= most_tries) throw;
    }
  }
  out.kernels = named(opened(in.path() / "edited.so", false, file), name, text);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace convscope
