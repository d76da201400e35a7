// What is read from device code, against what ptxas said when it made it.
#include "kernels/runtime/binary.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <random>
#include <regex>

#include "kernels/runtime/registry.h"

namespace convscope {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The fatbins of the build, beside which ptxas's words are kept.
std::vector<fs::path> fatbins() {
  std::vector<fs::path> list;
  std::error_code error;
  auto build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const char* folder : {"kernels/fatbin", "tests/fatbin"})
    for (const auto& e : fs::directory_iterator(build / folder, error))
      if (e.path().extension() == ".fatbin") list.push_back(e.path());
  return list;
}

TEST(Binary, SaysWhatPtxasSaid) {
  int kernels = 0, with_stack = 0, with_shared = 0;
  for (const auto& path : fatbins()) {
    bool shared_file = path.filename().string().starts_with("shared");
    std::string log = content(path.string() + ".log");
    std::map<std::pair<std::string, int>, BinaryFacts> facts;
    for (const auto& f : binary_facts(content(path))) facts[{f.entry, f.architecture}] = f;
    static const std::regex entry(R"(Compiling entry function '(\w+)' for 'sm_(\d+)\w?'\n[^\n]*\n\s+(\d+) bytes stack)"
                                  R"([^\n]*\nptxas info\s+: Used (\d+) registers([^\n]*))");
    static const std::regex smem(R"((\d+) bytes smem)");
    for (std::sregex_iterator it(log.begin(), log.end(), entry), end; it != end; ++it) {
      const std::smatch& m = *it;
      auto found = facts.find({m[1], std::stoi(m[2])});
      ASSERT_NE(found, facts.end()) << path << " " << m[1];
      const BinaryFacts& f = found->second;
      EXPECT_EQ(f.registers, std::stoi(m[4])) << m[1];
      EXPECT_EQ(f.stack_bytes, std::stoi(m[3])) << m[1];
      std::string rest = m[5];
      std::smatch shared;
      EXPECT_EQ(f.static_shared_bytes, std::regex_search(rest, shared, smem) ? std::stoi(shared[1]) : 0) << m[1];
      kernels++, with_stack += f.stack_bytes > 0, with_shared += shared_file && f.static_shared_bytes > 0;
    }
  }
  if (fatbins().empty()) GTEST_SKIP() << "this build has no device code";
  EXPECT_GE(kernels, 13 + 4);
  EXPECT_GT(with_stack, 0);
  EXPECT_EQ(with_shared, 2) << "tests/kernels/runtime/shared.cu, for two architectures";
}

TEST(Binary, OfTheKernelsInThisProgram) {
  auto facts = compiled_facts(find_kernel("direct").file());
  if (facts.empty()) GTEST_SKIP() << "this build has no device code";
  bool found = false;
  for (const auto& f : facts) found |= f.entry == "direct_f32" && f.registers >= 16 && f.architecture >= 70;
  EXPECT_TRUE(found);
  EXPECT_TRUE(compiled_facts("kernels/ladder/no_such.cu").empty());
}

// Any bytes: cut off anywhere, and with anything in between.
TEST(Binary, SurvivesWhatIsNotDeviceCode) {
  EXPECT_TRUE(binary_facts("").empty());
  EXPECT_TRUE(binary_facts(std::string(100, 'x')).empty());
  auto list = fatbins();
  if (list.empty()) GTEST_SKIP() << "this build has no device code";
  std::string good;
  for (const auto& path : list)
    if (auto c = content(path); good.empty() || c.size() < good.size()) good = c;
  size_t whole = binary_facts(good).size();
  EXPECT_GT(whole, 0u);
  std::mt19937 random(7);
  for (int i = 0; i < 400; i++) {
    EXPECT_LE(binary_facts(std::string_view(good).substr(0, random() % good.size())).size(), whole);
    std::string bad = good;
    // Most of what steers the reading is at the beginning and in the section table at the end.
    for (int n = 0; n < 20; n++) {
      size_t at = random() % 3 == 0 ? random() % bad.size()
                  : random() % 2    ? random() % 400
                                    : bad.size() - 1 - random() % 4000;
      bad[at] = static_cast<char>(random());
    }
    EXPECT_LT(binary_facts(bad).size(), 100000u);
  }
}

}  // namespace
}  // namespace convscope
