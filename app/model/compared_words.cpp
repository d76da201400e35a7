// Compared figures as words: for the table, and for a file.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "app/model/compared_figures.h"
#include "kernels/base/text.h"

namespace convscope {
namespace {

using Value = std::optional<double>;

std::string signed_words(double v, const std::string& words) {
  return v < 0 ? words : "+" + words;  // words of a negative value have their sign
}

std::string with_minus(std::string s) {
  if (s.starts_with("-")) s = "−" + s.substr(1);
  return s;
}

// "−93.19 MiB", in the unit that bytes_text() takes for `beside`, or in one in which it is not 0.00.
std::string bytes_words(double v, double beside) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double scale = 1;
  size_t u = 0;
  constexpr double least = 0.005;
  while (std::abs(beside) / scale >= 1024 && u < 5 && (v == 0 || std::abs(v) / (scale * 1024) >= least))
    scale *= 1024, u++;
  const std::string size = u == 0 ? grouped(std::llround(std::abs(v))) : fmt::format("{:.2f}", std::abs(v) / scale);
  return fmt::format("{}{} {}", v < 0 ? "−" : "", size, units[u]);
}

// A value with its sign.
std::string number_words(double v, const std::string& unit, double beside) {
  if (!std::isfinite(v)) return number_text(v);
  const double size = std::abs(v);
  if (unit == "ms") return with_minus(time_text(v));
  if (unit == "ns") return with_minus(time_text(v * 1e-6));
  if (unit == "byte") return bytes_words(v, std::max(size, std::abs(beside)));
  if (unit == "GFLOP/s" && size >= 1000) return with_minus(fmt::format("{:.3g} TFLOP/s", v / 1000));
  std::string digits = size >= 1e3 || (size == std::floor(size) && size < 1e15)
                           ? (v < 0 ? "−" : "") + grouped(std::llround(size))
                       : size < 0.001 ? with_minus(fmt::format("{:.2g}", v))
                                      : with_minus(fmt::format("{:.4g}", v));
  for (const char* shown : {"%", "MHz", "W", "°C", "GFLOP/s", "GB/s"})
    if (unit == shown) return digits + " " + unit;
  return digits;
}

}  // namespace

const char* name_of(FigureVerdict v) {
  switch (v) {
    case FigureVerdict::better:
      return "better";
    case FigureVerdict::worse:
      return "worse";
    case FigureVerdict::same:
      return "same";
    case FigureVerdict::neutral:
      return "neutral";
    case FigureVerdict::emulated:
      return "emulated";
    case FigureVerdict::ambiguous:
      return "ambiguous";
  }
  return "";
}

std::optional<double> ComparedFigure::difference() const { return a && b ? Value(*a - *b) : Value(); }
std::optional<double> ComparedFigure::ratio() const { return a && b && *b != 0 ? Value(*a / *b) : Value(); }

std::string short_words(const Value& v, const std::string& unit) {
  if (!v || !std::isfinite(*v)) return "";
  if (unit == "byte") {  // three digits
    const std::string words = bytes_words(*v, *v);
    const size_t space = words.rfind(' '), point = words.find('.');
    if (point == std::string::npos || space == std::string::npos) return "";
    const size_t digits =
        static_cast<size_t>(std::count_if(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(point),
                                          [](char c) { return c >= '0' && c <= '9'; }));
    return words.substr(0, digits >= 3 ? point : std::min(space, point + 4 - digits)) + words.substr(space);
  }
  for (const char* not_a_count : {"ms", "ns", "%", "MHz", "W", "°C", "GFLOP/s", "GB/s"})
    if (unit == not_a_count) return "";
  double scale = 1e3;
  const char* prefix = "k";
  for (auto [from, name] : {std::pair(1e6, "M"), {1e9, "G"}, {1e12, "T"}})
    if (std::abs(*v) >= from * 0.9995) scale = from, prefix = name;
  if (std::abs(*v) < 1e4) return "";
  return with_minus(fmt::format("{:.3g} {}", *v / scale, prefix));
}

std::string value_words(const Value& v, const std::string& unit, const Value& beside) {
  return v ? number_words(*v, unit, beside.value_or(0)) : "–";
}

std::string difference_words(const ComparedFigure& f) {
  const Value d = f.difference();
  if (!d) return "";
  if (*d == 0) return "0";
  if (f.unit == "%") return signed_words(*d, with_minus(fmt::format("{:.3g} pp", *d)));
  return signed_words(*d, number_words(*d, f.unit, std::max(std::abs(*f.a), std::abs(*f.b))));
}

std::string ratio_words(const ComparedFigure& f) {
  const Value r = f.ratio();
  if (!r || !std::isfinite(*r)) return "";
  if (*r == 0) return "0×";
  const double size = std::abs(*r);
  if (size >= 1e4) return grouped(std::llround(*r)) + "×";
  if (size >= 10) return fmt::format("{:.3g}×", *r);
  if (size >= 0.1) return fmt::format("{:.2f}×", *r);
  if (size >= 0.01) return fmt::format("{:.3f}×", *r);
  // Too small for a decimal fraction to be read.
  return fmt::format("1/{}×", grouped(std::llround(1 / size)));
}

std::string csv_of(const std::vector<ComparedFigure>& figures, const std::string& first, const std::string& second) {
  auto field = [](const Value& v, const std::string& words, const std::string& why) {
    return v               ? fmt::format("{:.9g}", *v)
           : words.empty() ? (why.empty() ? "" : csv_field("none: " + why))
                           : csv_field(words);
  };
  auto number = [](const Value& v) { return v ? fmt::format("{:.9g}", *v) : std::string(); };
  std::string out = fmt::format("group,figure,unit,{},{},difference,ratio,verdict,rule,source of {},source of {}\n",
                                first, second, first, second);
  for (const auto& f : figures)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", title_of(f.group), csv_field(f.title), f.unit,
                       field(f.a, f.a_words, f.a_reason), field(f.b, f.b_words, f.b_reason), number(f.difference()),
                       number(f.ratio()), f.verdict ? name_of(*f.verdict) : "", csv_field(f.rule),
                       csv_field(f.source_a), csv_field(f.source_b));
  return out;
}

}  // namespace convscope
