#include "kernels/planner/kept_times.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "kernels/base/cache.h"
#include "kernels/base/text.h"
#include "kernels/planner/export.h"

namespace convscope {
namespace {

// Grows when what is measured changes its meaning.
constexpr std::string_view first_line = "convscope-times 1\n";
constexpr size_t most_bytes = 4 << 20;

// The first word of a line, which goes on behind it.
std::string_view word(std::string_view& line) {
  size_t end = std::min(line.find(' '), line.size());
  std::string_view w = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return w;
}

bool is_date(std::string_view text) {
  constexpr std::string_view form = "0000-00-00";
  if (text.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); i++)
    if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  return true;
}

std::string last_line(std::string_view before) { return fmt::format("end {:016x}\n", hash_of(before)); }

}  // namespace

std::string time_key(const DeviceInfo& device, const KernelDefinition& kernel, const ConvProblem& p) {
  std::string key = fmt::format("{} | {} | {} {:016x} | {} | cold", device.name, device.driver, kernel.name(),
                                hash_of(exported_cuda(kernel, p)), describe(p));
  for (char& c : key)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // a line of the file
  return key;
}

std::string kept_times_file() { return cache_file("planner.txt"); }

std::string times_text(const std::vector<KeptTime>& times) {
  std::string out(first_line);
  for (const auto& t : times) out += fmt::format("{} {:.9g} {}\n", t.date, t.ms, t.key);
  return out + last_line(out);
}

std::vector<KeptTime> read_times(const std::string& text) {
  std::string_view rest = text;
  if (!rest.starts_with(first_line) || !rest.ends_with('\n')) return {};
  size_t last = rest.rfind('\n', rest.size() - 2);  // there is one: the first line's, at least
  if (last == rest.npos || rest.substr(last + 1) != last_line(rest.substr(0, last + 1))) return {};
  rest = rest.substr(first_line.size(), last + 1 - first_line.size());
  std::vector<KeptTime> times;
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end), date = word(line), ms = word(line);
    rest.remove_prefix(end + 1);
    KeptTime t{std::string(line), 0, std::string(date)};
    auto [stop, error] = std::from_chars(ms.data(), ms.data() + ms.size(), t.ms);
    if (error != std::errc{} || stop != ms.data() + ms.size() || !std::isfinite(t.ms) || t.ms <= 0) return {};
    if (!is_date(date) || t.key.empty()) return {};
    times.push_back(std::move(t));
  }
  return times;
}

std::optional<KeptTime> kept_time(const std::string& key) {
  for (auto& t : read_times(cached_text(kept_times_file(), most_bytes)))
    if (t.key == key) return t;
  return {};
}

void keep_time(const KeptTime& time) {
  const std::string file = kept_times_file();
  CacheLock lock(file);
  auto times = read_times(cached_text(file, most_bytes));
  std::erase_if(times, [&](const KeptTime& t) { return t.key == time.key; });
  times.push_back(time);
  if (times.size() > most_kept_times) times.erase(times.begin(), times.end() - most_kept_times);
  cache_text(file, times_text(times));
}

}  // namespace convscope
