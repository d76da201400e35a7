#include "kernels/verify/stray_reads.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace convscope {
namespace {

// What the definition takes for one element.
struct Taken {
  int64_t n, first_channel, channels, co;      // co within its group
  std::map<int64_t, int64_t> position_of_tap;  // k → i, of taps that land
};

Taken taken_by(const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  const int64_t group = co / p.out_per_group();
  Taken t{n, group * p.in_per_group(), p.in_per_group(), co % p.out_per_group(), {}};
  for (int64_t k = 0; k < p.kernel_size; k++) {
    const int64_t at = j + p.padding - k * p.dilation;
    if (at >= 0 && at % p.stride == 0 && at / p.stride < p.length) t.position_of_tap[k] = at / p.stride;
  }
  return t;
}

// "3", "3 and 4", "3, 4 and 5", "3, 4, 5 and 9 more".
std::string list_words(const std::set<int64_t>& values) {
  constexpr size_t most = 4;
  std::vector<std::string> parts;
  for (const int64_t v : values) {
    if (parts.size() == most - 1 && values.size() > most) {
      parts.push_back(std::to_string(values.size() - parts.size()) + " more");
      break;
    }
    parts.push_back(std::to_string(v));
  }
  std::string out;
  for (size_t i = 0; i < parts.size(); i++) out += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return out;
}

// What is stray of one line, by what is wrong with it: the plainest cause first.
struct Strays {
  int64_t all = 0, stray = 0;
  std::set<int64_t> outside, sequences, channels, outputs, places;
};

void look_at_x(Strays& s, const Taken& t, const ConvProblem& p, int64_t index) {
  const int64_t n = index / p.length / p.in_channels, ci = index / p.length % p.in_channels, i = index % p.length;
  if (index < 0 || index >= p.x_elements())
    s.outside.insert(index);
  else if (n != t.n)
    s.sequences.insert(n);
  else if (ci < t.first_channel || ci >= t.first_channel + t.channels)
    s.channels.insert(ci);
  else if (std::none_of(t.position_of_tap.begin(), t.position_of_tap.end(), [&](auto& tap) { return tap.second == i; }))
    s.places.insert(i);
  else
    return;
  s.stray++;
}

void look_at_w(Strays& s, const Taken& t, const ConvProblem& p, int64_t index) {
  const int64_t ci = index / p.kernel_size / p.out_per_group(), co = index / p.kernel_size % p.out_per_group(),
                k = index % p.kernel_size;
  if (index < 0 || index >= p.w_elements())
    s.outside.insert(index);
  else if (ci < t.first_channel || ci >= t.first_channel + t.channels)
    s.channels.insert(ci);
  else if (co != t.co)
    s.outputs.insert(co);
  else if (!t.position_of_tap.contains(k))
    s.places.insert(k);
  else
    return;
  s.stray++;
}

void look_at_b(Strays& s, const ConvProblem& p, int64_t co, int64_t index) {
  if (index < 0 || index >= p.b_elements())
    s.outside.insert(index);
  else if (index != co)
    s.outputs.insert(index);
  else
    return;
  s.stray++;
}

std::string words_of(char tensor, const Strays& s, const Taken& t, int64_t co) {
  const std::string name(1, tensor);
  const bool none = t.position_of_tap.empty();
  std::vector<std::string> parts;
  if (!s.outside.empty()) parts.push_back(fmt::format("outside of {} (element {})", name, list_words(s.outside)));
  if (!s.sequences.empty())
    parts.push_back(fmt::format("{} of sequence {}, not {}", name, list_words(s.sequences), t.n));
  if (!s.channels.empty())
    parts.push_back(fmt::format("{} of channel {}, which is not of its group", name, list_words(s.channels)));
  if (!s.outputs.empty())
    parts.push_back(
        fmt::format("{} of output channel {}, not {}", name, list_words(s.outputs), tensor == 'b' ? co : t.co));
  if (!s.places.empty() && tensor == 'x')
    parts.push_back(fmt::format("x at i = {}, {}", list_words(s.places),
                                none ? "where no tap lands" : "which none of its taps takes"));
  if (!s.places.empty() && tensor == 'w')
    parts.push_back(fmt::format("w of k = {}, {}", list_words(s.places),
                                none                   ? "though no tap lands"
                                : s.places.size() == 1 ? "a tap that does not reach it"
                                                       : "taps that do not reach it"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<StrayReads> stray_reads(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  std::vector<StrayReads> all;
  if (trace.through_shared || trace.through_workspace) return all;
  const Taken taken = taken_by(p, n, co, j);
  std::map<std::tuple<std::string, int, char>, Strays> lines;
  for (const auto& r : trace.reads) {
    if (r.line <= 0 || (r.tensor != 'x' && r.tensor != 'w' && r.tensor != 'b')) continue;
    Strays& s = lines[{r.file, r.line, r.tensor}];
    s.all++;
    if (r.tensor == 'x')
      look_at_x(s, taken, p, r.index);
    else if (r.tensor == 'w')
      look_at_w(s, taken, p, r.index);
    else
      look_at_b(s, p, co, r.index);
  }
  for (const auto& [where, s] : lines) {
    if (!s.stray) continue;
    const auto& [file, line, tensor] = where;
    // Where no tap lands, what is read of x says it of w as well.
    if (tensor == 'w' && taken.position_of_tap.empty())
      if (auto x = lines.find({file, line, 'x'}); x != lines.end() && x->second.stray) continue;
    all.push_back({tensor, file, line, s.stray, s.all, words_of(tensor, s, taken, co)});
  }
  // What is read of x tells more than what is read of w for it.
  std::stable_sort(all.begin(), all.end(), [](const StrayReads& a, const StrayReads& b) {
    return std::tuple(a.tensor != 'x', -a.stray) < std::tuple(b.tensor != 'x', -b.stray);
  });
  return all;
}

}  // namespace convscope
