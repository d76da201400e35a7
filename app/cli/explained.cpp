#include "app/cli/explained.h"

#include <fmt/format.h>

#include "app/engine/json_fields.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;

std::string explained_number(const json& v) {
  return v.is_string() ? v.get<std::string>() : v.is_number() ? number_text(v.get<double>()) : "–";
}

TapRows tap_rows(const json& e) {
  auto index = [](const json& v) { return v.is_number() ? std::to_string(v.get<int64_t>()) : std::string("–"); };
  constexpr size_t few = 16;
  TapRows out;
  const json& taps = e.at("taps");
  for (const auto& t : taps) {
    const bool noted = t.contains("note");
    if (t["expected_i"].is_null() && t["count"] == 0.0 && !noted && taps.size() > few) {
      out.idle++;
      continue;
    }
    TapRow row;
    row.k = t["k"].get<int64_t>();
    row.same = t["expected_i"] == t["read_i"] && !noted;
    row.should_i = index(t["expected_i"]), row.reads_i = index(t["read_i"]);
    row.should_add = explained_number(t["expected_sum"]), row.adds = explained_number(t["read_sum"]);
    if (noted)
      row.note = t["note"].get<std::string>();
    else if (!row.same)
      row.note = t["formula"].get<std::string>() + (t["expected_i"].is_null() ? ", but it takes one" : "");
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::vector<std::string> stray_words(const json& stray_reads) {
  using json_fields::text;
  std::vector<std::string> all;
  for (const auto& s : stray_reads) {
    // A program without debug information knows no line.
    const int number = s["line"].get<int>();
    std::string line = number > 0 ? fmt::format("{}:{} ", file_name(text(s, "file")), number) : "";
    if (text(s, "tensor") == "y")
      line += "writes " + text(s, "words");
    else if (s["reads"] == 0)
      line += "reads " + text(s, "words");
    else
      line += fmt::format("reads {} ({} of its {} reads)", text(s, "words"), s["stray"].get<int64_t>(),
                          s["reads"].get<int64_t>());
    all.push_back(std::move(line));
  }
  return all;
}

}  // namespace convscope
