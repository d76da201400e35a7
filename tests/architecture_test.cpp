// What ARCHITECTURE.md says of the folders holds for all that there are.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

#include "tests/support.h"

namespace convscope {
namespace {

TEST(Architecture, ItsTableHasEveryFolder) {
  namespace fs = std::filesystem;
  std::string table;
  std::istringstream text(test::text_file(test::project_file("ARCHITECTURE.md")));
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("|")) table += line + "\n";
  int folders = 0;
  for (const std::string top : {"app", "kernels", "profiling"})
    for (const auto& folder : fs::directory_iterator(test::project_file(top))) {
      if (!folder.is_directory()) continue;
      const fs::directory_iterator files(folder.path());
      const bool has_sources = std::any_of(begin(files), end(files), [](const fs::directory_entry& file) {
        const std::string ending = file.path().extension().string();
        return ending == ".cpp" || ending == ".h" || ending == ".cu";
      });
      if (!has_sources) continue;
      folders++;
      const std::string name = top + "/" + folder.path().filename().string();
      EXPECT_TRUE(test::holds(table, "`" + name + "`")) << name;
    }
  EXPECT_GE(folders, 20) << "they were looked at";
  EXPECT_FALSE(test::holds(table, "`kernels/nowhere`"));
}

}  // namespace
}  // namespace convscope
