#include "kernels/base/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <iterator>
#include <numeric>

namespace convscope {
namespace {

int lower(char c) { return std::tolower(static_cast<unsigned char>(c)); }

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  auto same = [&](size_t i, size_t j) { return lower(a[i - 1]) == lower(b[j - 1]); };
  for (size_t i = 1; i <= a.size(); i++) {
    before.swap(last), last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const auto& c : candidates) {
    size_t d = edit_distance(word, c);
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

std::string grouped(int64_t n) {
  auto magnitude = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  std::string digits = std::to_string(magnitude), out;
  for (size_t i = 0; i < digits.size(); i++) {
    if (i && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return n < 0 ? "-" + out : out;
}

std::string bytes_text(uint64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double v = static_cast<double>(bytes);
  int u = 0;
  while (v >= 1024 && u < 5) v /= 1024, u++;
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {}", v, units[u]);
}

std::string noise_text(double percent) {
  return percent >= 9.95 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.2g} %", percent);
}

std::string time_text(double ms) {
  if (!std::isfinite(ms)) return "unknown";
  if (ms == 0) return "0 ns";
  struct Unit {
    double scale;
    const char* name;
  };
  // The first unit in which it is at least 1 when rounded to three digits, so that 999.9 ms is 1.00 s.
  constexpr Unit units[] = {{1e3, "s"}, {1, "ms"}, {1e-3, "µs"}, {1e-6, "ns"}};
  for (const Unit& u : units) {
    double v = ms / u.scale, size = std::fabs(v);
    if (size < 0.9995 && &u != std::end(units) - 1) continue;
    return fmt::format("{:.{}f} {}", v, size < 9.995 ? 2 : size < 99.95 ? 1 : 0, u.name);
  }
  return "";
}

std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.6g}", v);
}

std::string lowered(std::string_view text) {
  std::string out;
  for (char c : text) out += static_cast<char>(lower(c));
  return out;
}

std::string file_name(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string ratio_text(double v) { return v > 1e6 ? "over a million times" : fmt::format("{:.3g}", v); }

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

uint64_t hash_of(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

std::string percent_text(double part, double whole) {
  if (whole <= 0) return "0 %";
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  double p = 100 * part / whole;
  if (p < 0.1) return fmt::format("{:.2g} %", p);
  if (p > 99.9) {  // enough digits to be less than 100
    for (int digits = 2; digits < 10; digits++) {
      std::string s = fmt::format("{:.{}f}", p, digits);
      if (s[0] == '9') return s + " %";
    }
    return "just under 100 %";
  }
  return fmt::format("{:.1f} %", p);
}

}  // namespace convscope
