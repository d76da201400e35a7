#include "kernels/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace convscope {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      size_t above = row[j];
      bool same = std::tolower(a[i - 1]) == std::tolower(b[j - 1]);
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = above;
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
  std::string digits = std::to_string(n < 0 ? -n : n), out;
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

std::string time_text(double ms) {
  if (!std::isfinite(ms)) return "unknown";
  struct Unit {
    double scale;
    const char* name;
  };
  for (Unit u : {Unit{1e3, "s"}, Unit{1, "ms"}, Unit{1e-3, "µs"}})
    if (std::fabs(ms) >= u.scale) return fmt::format("{:#.3g} {}", ms / u.scale, u.name);
  return fmt::format("{:#.3g} ns", ms / 1e-6);
}

std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.6g}", v);
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
