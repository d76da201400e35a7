#include "kernels/runtime/compile/precompiled.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>

#include "kernels/base/cache.h"
#include "kernels/base/error.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_precompiled = 8;  // of some 50 MB; a program makes up to four: traced or not, host code or not
constexpr auto longest_unused = std::chrono::hours(24 * 14);

const std::vector<std::string> by_itself = {"-include", "convscope/outside.h"};

// What could not be made or kept, by its key: not tried again by this program.
class Failed {
 public:
  bool has(const std::string& key) {
    std::lock_guard lock(mutex_);
    return all_.contains(key);
  }
  void add(const std::string& key) {
    std::lock_guard lock(mutex_);
    all_.insert(key);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> all_;
};
Failed& failed() {
  static auto* all = new Failed;
  return *all;
}

void remove_old(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::vector<fs::path> half;  // copies that were ended on their way: KEY.h.gch.PID
  for (const auto& e : fs::directory_iterator(folder, error)) {
    const auto ending = e.path().extension();
    if (ending == ".gch")
      all.emplace_back(e.last_write_time(error), e.path());
    else if (ending != ".h" && ending != ".lock" && now - e.last_write_time(error) > std::chrono::hours(1))
      half.push_back(e.path());
  }
  for (const auto& path : half) fs::remove(path, error);
  std::sort(all.rbegin(), all.rend());
  for (size_t i = 0; i < all.size(); i++) {
    if (i < most_precompiled && now - all[i].first < longest_unused) continue;
    fs::path header = all[i].second;
    header.replace_extension();
    for (const auto& gone : {all[i].second, header, fs::path(header.string() + ".lock")}) fs::remove(gone, error);
  }
}

}  // namespace

std::vector<std::string> first_header(const Workshop& in, const std::string& compiler,
                                      const std::vector<std::string>& flags, bool host_code, Activity& activity) {
  Fingerprint print;
  print.add_headers(), print.add_compiler(compiler), print.add(flags), print.add(host_code ? "host code" : "kernels");
  const fs::path folder = modules_folder() / "headers";
  const std::string key = print.text();
  const fs::path header = folder / (key + ".h"), precompiled = folder / (key + ".h.gch");
  std::error_code error;
  if (failed().has(key)) return by_itself;
  if (!fs::exists(precompiled, error)) {
    const CacheLock one(header.string());  // another process makes it as well
    if (!fs::exists(precompiled, error)) {
      const std::string text =
          std::string("#include \"convscope/outside.h\"\n") + (host_code ? "#include \"convscope/host_code.h\"\n" : "");
      // Made where its name is not seen yet: a compiler takes what lies beside the header.
      const std::string made = key + ".gch";
      try {
        in.write((key + ".h").c_str(), text);
        std::vector<std::string> all = flags;
        for (const std::string& a : {std::string("-x"), std::string("c++-header"), key + ".h", std::string("-o"), made})
          all.push_back(a);
        in.compile(compiler, all, "convscope/outside.h", activity);
        cache_text(header.string(), text);
        in.put(made.c_str(), precompiled);
      } catch (const Cancelled&) {
        throw;
      } catch (const std::runtime_error&) {  // a compiler that cannot; a full disk
        failed().add(key);
        return by_itself;
      }
      remove_old(folder);
    }
  }
  touch(precompiled);
  return {"-include", header.string()};
}

bool forget_unreadable(const std::vector<std::string>& first, const std::string& log) {
  if (first == by_itself) return false;
  // cc1plus says "not a PCH file", "cannot read PCH", that the header is not there any more (another process thinned
  // them out), or crashes over what it took for one.
  const auto says = [&](const char* what) { return log.find(what) != log.npos; };
  if (!says("PCH") && !says(first.back().c_str()) && !says("internal compiler error")) return false;
  std::error_code error;
  fs::remove(first.back() + ".gch", error);
  return true;
}

}  // namespace convscope
