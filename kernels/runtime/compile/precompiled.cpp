#include "kernels/runtime/compile/precompiled.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <zlib.h>

#include "kernels/base/cache.h"
#include "kernels/base/error.h"

namespace convscope {
namespace fs = std::filesystem;
namespace {

constexpr size_t most_precompiled = 8;  // of some 50 MB; a program makes up to four: traced or not, host code or not
constexpr std::chrono::hours longest_unused(24 * 14);

const std::vector<std::string> by_itself = {"-include", "convscope/outside.h"};

// What is known of headers for as long as this program runs.
class Known {
 public:
  bool has(const std::string& header) {
    std::lock_guard lock(mutex_);
    return all_.contains(header);
  }
  void add(const std::string& header) {
    std::lock_guard lock(mutex_);
    all_.insert(header);
  }
  void forget(const std::string& header) {
    std::lock_guard lock(mutex_);
    all_.erase(header);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> all_;
};
Known& failed() {  // could not be made or kept: not tried again
  static auto* all = new Known;
  return *all;
}
Known& seen_whole() {
  static auto* all = new Known;
  return *all;
}

constexpr const char* checksum_begins = "// CRC-32 of its precompiled form: ";

std::string checksum_line(const fs::path& precompiled) {
  std::ifstream in(precompiled, std::ios::binary);
  std::vector<char> piece(size_t{1} << 20);
  uLong sum = 0;
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0)
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<size_t>(in.gcount()));
  return fmt::format("{}{:08x}\n", checksum_begins, sum);
}

// A compiler may read a header that a failing disk or a full one has spoilt, and then finds errors in what it compiles.
bool is_whole(const fs::path& header) {
  std::error_code error;
  const fs::path precompiled = header.string() + ".gch";
  return fs::exists(precompiled, error) && read_whole(header).ends_with(checksum_line(precompiled));
}

// Read once by each program: 50 MB, a tenth of the time of a compilation.
bool is_known_whole(const fs::path& header) {
  std::error_code error;
  if (seen_whole().has(header.string())) return fs::exists(header.string() + ".gch", error);
  if (!is_whole(header)) return false;
  seen_whole().add(header.string());
  return true;
}

void remove_old(const fs::path& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::vector<fs::path> gone;  // objects of before; copies that were ended on their way: KEY.h.gch.PID
  for (const auto& e : fs::directory_iterator(folder, error)) {
    const auto ending = e.path().extension();
    if (ending == ".gch")
      all.emplace_back(e.last_write_time(error), e.path());
    else if (ending != ".h" && ending != ".lock" &&
             now - e.last_write_time(error) > (ending == ".o" ? longest_unused : std::chrono::hours(1)))
      gone.push_back(e.path());
  }
  for (const auto& path : gone) fs::remove(path, error);
  std::sort(all.rbegin(), all.rend());
  for (size_t i = 0; i < all.size(); i++) {
    if (i < most_precompiled && now - all[i].first < longest_unused) continue;
    fs::path header = all[i].second;
    header.replace_extension();
    for (const auto& one : {all[i].second, header, fs::path(header.string() + ".lock")}) fs::remove(one, error);
  }
}

}  // namespace

fs::path shared_by_all(const fs::path& modules) { return modules / "headers"; }

std::vector<std::string> first_header(const Workshop& in, const std::string& compiler,
                                      const std::vector<std::string>& flags, bool host_code, Activity& activity) {
  Fingerprint print;
  print.add_headers(), print.add_compiler(compiler), print.add(flags), print.add(host_code ? "host code" : "kernels");
  const fs::path folder = shared_by_all(modules_folder());
  const std::string key = print.text();
  const fs::path header = folder / (key + ".h"), precompiled = folder / (key + ".h.gch");
  std::error_code error;
  if (failed().has(header.string())) return by_itself;
  if (!is_known_whole(header)) {
    const CacheLock one(header.string());  // another process makes it as well
    if (!is_known_whole(header)) {
      fs::remove(precompiled, error);
      const std::string text =
          std::string("#include \"convscope/outside.h\"\n") +
          (host_code ? "#include \"convscope/host_code.h\"\n#include \"convscope/python_module.h\"\n" : "");
      // Made where its name is not seen yet: a compiler takes what lies beside the header.
      const std::string made = key + ".gch";
      try {
        in.write((key + ".h").c_str(), text);
        std::vector<std::string> all = flags;
        for (const std::string& a : {std::string("-x"), std::string("c++-header"), key + ".h", std::string("-o"), made})
          all.push_back(a);
        in.compile(compiler, all, "convscope/outside.h", activity);
        cache_text(header.string(), text + checksum_line(in.path() / made));
        in.put(made.c_str(), precompiled);
      } catch (const Cancelled&) {
        throw;
      } catch (const std::runtime_error&) {  // a compiler that cannot; a full disk
        failed().add(header.string());
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
  // cc1plus says "not a PCH file", "cannot read PCH", or that the header is not there any more (another process thinned
  // them out); over one that was spoilt since it was seen whole it crashes or finds errors where there are none.
  const auto says = [&](const char* what) { return log.find(what) != log.npos; };
  if (!says("PCH") && !says(first.back().c_str()) && (log.empty() || is_whole(first.back()))) return false;
  std::error_code error;
  fs::remove(first.back() + ".gch", error);
  seen_whole().forget(first.back());
  return true;
}

}  // namespace convscope
