// Kernel files from outside on the command line, in a cache of the test's own.
#pragma once
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "kernels/base/error.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "tests/app/cli/cli.h"

namespace convscope::test {

inline bool has_nvcc() {
  try {
    device_compiler();
    return true;
  } catch (const MissingError&) {
    return false;
  }
}

inline const Words little = {"--in-channels", "6", "--out-channels", "4", "--kernel-size", "3", "--length", "40",
                             "--stride",      "2", "--padding",      "1", "--dilation",    "2", "--bias"};

// What is compiled of a file, and of the headers for it: plain and traced.
#if defined(__SANITIZE_THREAD__)
inline constexpr size_t of_a_file = 1;
#else
inline constexpr size_t of_a_file = 2;
#endif

// Modules are kept in a folder of the test's own, so that each compiles what it is about.
class OutsideCli : public ::testing::Test {
 protected:
  // A file of assets/kernels in which one text stands for another, which must be there.
  std::string changed(const std::string& sample, const std::string& from, const std::string& to) {
    return changed_text(text_file(project_file("assets/kernels/" + sample)), from, to, sample);
  }
  // The same of a text.
  std::string changed_text(const std::string& text, const std::string& from, const std::string& to,
                           const std::string& name = "changed.cu") {
    return file(name, changed_into(text, from, to));
  }
  static std::string changed_into(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return at == text.npos ? text : text.replace(at, from.size(), to);
  }
  // assets/kernels/gather.cu for elements of another type, by its CUDA name and by that of a launch line.
  static std::string gather_of(const std::string& type, const std::string& dtype, const std::string& header) {
    std::string text = text_file(project_file("assets/kernels/gather.cu"));
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{
              "const float* x, const float* w, const float* b, float* y",
              "const " + type + "* x, const " + type + "* w, const " + type + "* b, " + type + "* y"},
          {"float sum = b ? b[co] : 0.0f", "float sum = b ? float(b[co]) : 0.0f"},
          {"sum += x[", "sum += float(x["},
          {"L + i] *", "L + i]) *"},
          {"             w[(", "             float(w[("},
          {"* K + k];", "* K + k]);"},
          {"y[id] = sum;", "y[id] = " + type + "(sum);"},
          {"// convscope:", "#include <" + header + ">\n// convscope:"},
          {"args=x,w,b", "type=" + dtype + " args=x,w,b"}})
      text = changed_into(text, from, to);
    return text;
  }
  std::string file(const std::string& name, const std::string& text) {
    return folder_.write(name, text.data(), text.size());
  }
  Finished run(const Words& words, const Words& more = {}) {
    return convscope_run(words + Words{"--trust"}, Words{"CONVSCOPE_CACHE=" + own_cache(folder_)} + more);
  }
  // Files of the folder whose names begin so.
  size_t files(const std::string& folder, const std::string& begin_of_name) {
    std::error_code none;
    std::filesystem::directory_iterator all(folder_.path(folder), none);
    return static_cast<size_t>(std::count_if(begin(all), end(all), [&](const auto& e) {
      return e.is_regular_file() && e.path().filename().string().starts_with(begin_of_name);
    }));
  }
  size_t modules() { return files("cache/kernels", ""); }  // what was made of kernel files
  ScratchFolder folder_;
};

}  // namespace convscope::test
