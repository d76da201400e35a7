#include "kernels/problem/axis.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string_view>

#include "kernels/base/text.h"

namespace convscope {
namespace {

constexpr int64_t every_one_up_to = 32;

[[noreturn]] void bad_axis(const std::string& value, const std::string& rule) { throw InputError("over", value, rule); }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> all;
  for (;;) {
    const size_t at = text.find(between);
    all.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return all;
    text.remove_prefix(at + 1);
  }
}

int64_t number_in(std::string_view text, std::string_view item) {
  int64_t v = 0;
  text = trimmed(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || v < 0 || v > max_parameter)
    bad_axis(std::string(item),
             fmt::format("must be a whole number, A..B, A..B+STEP or A..B*FACTOR, none above {}", max_parameter));
  return v;
}

void add_values(std::vector<int64_t>& all, std::string_view item) {
  auto add = [&](int64_t v) {
    all.push_back(v);
    if (all.size() > max_axis_values)
      bad_axis(std::string(item), fmt::format("would be more than {} values; larger steps (A..B+STEP, A..B*FACTOR) "
                                              "make fewer",
                                              max_axis_values));
  };
  const size_t dots = item.find("..");
  if (dots == item.npos) return add(number_in(item, item));
  const size_t how = item.find_first_of("+*", dots);
  const int64_t from = number_in(item.substr(0, dots), item),
                to = number_in(item.substr(dots + 2, how == item.npos ? how : how - dots - 2), item);
  if (from > to) bad_axis(std::string(item), "must go upwards");
  bool times = how == item.npos ? to - from >= every_one_up_to : item[how] == '*';
  const int64_t by = how != item.npos ? number_in(item.substr(how + 1), item) : times ? 2 : 1;
  if (times && by < 2) bad_axis(std::string(item), "must have a factor of 2 at least");
  if (!times && by < 1) bad_axis(std::string(item), "must have a step of 1 at least");
  if (times && from == 0) {  // what is multiplied does not leave 0
    add(0);
    for (int64_t v = 1; v <= to; v *= by) add(v);
    return;
  }
  for (int64_t v = from; v <= to; v = times ? v * by : v + by) add(v);
}

const ProblemField* field_named(std::string_view written) {
  std::string name(written);
  std::replace(name.begin(), name.end(), '-', '_');
  std::vector<std::string> names;
  for (const auto& f : problem_fields()) {
    if (name == f.name) return &f;
    names.push_back(f.name);
  }
  const std::string near = nearest_name(name, names);
  bad_axis(std::string(written), near.empty() ? fmt::format("is no parameter: {}", fmt::join(names, ", "))
                                              : fmt::format("is no parameter; did you mean {}?", near));
}

}  // namespace

std::string Axis::name() const {
  std::string all;
  for (const auto* f : fields) all += (all.empty() ? "" : ", ") + std::string(f->name);
  return all;
}

bool Axis::varies(const std::string& field) const {
  return std::any_of(fields.begin(), fields.end(), [&](const ProblemField* f) { return field == f->name; });
}

Axis::Point Axis::at(const ConvProblem& base, int64_t value) const {
  Point point;
  ConvProblem& p = point.problem;
  p = base;
  for (const auto* f : fields) p.*f->value = value;
  const int64_t room = std::max(p.stride, p.dilation) - 1;
  if (!varies("output_padding") && p.output_padding > room && room >= 0) {
    point.note = fmt::format("output_padding {} → {}", p.output_padding, room);
    p.output_padding = room;
  }
  point.wrong = check(p);
  return point;
}

Axis axis_from(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == text.npos)
    bad_axis(text, "must be FIELD=VALUES, as stride=1..8, length=1024..65536 or in-channels,out-channels=64..512*2");
  Axis axis;
  for (const auto name : parts_of(std::string_view(text).substr(0, equals), ',')) {
    const ProblemField* f = field_named(name);
    if (axis.varies(f->name)) bad_axis(std::string(name), "is named twice");
    axis.fields.push_back(f);
  }
  for (const auto item : parts_of(std::string_view(text).substr(equals + 1), ',')) add_values(axis.values, item);
  std::sort(axis.values.begin(), axis.values.end());
  axis.values.erase(std::unique(axis.values.begin(), axis.values.end()), axis.values.end());
  return axis;
}

}  // namespace convscope
