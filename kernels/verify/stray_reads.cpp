#include "kernels/verify/stray_reads.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "kernels/base/text.h"

namespace convscope {
namespace {

// What the definition takes for one element.
struct Taken {
  int64_t n, first_channel, channels, co;      // co within its group
  std::map<int64_t, int64_t> position_of_tap;  // k → i, of taps that land
  std::set<int64_t> beside;                    // taps that point beside x: a tile may have zeros there

  bool takes_place(int64_t i) const {
    return std::any_of(position_of_tap.begin(), position_of_tap.end(),
                       [i](const auto& tap) { return tap.second == i; });
  }
  bool takes_channel(int64_t ci) const { return ci >= first_channel && ci < first_channel + channels; }
};

Taken taken_by(const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  const int64_t group = co / p.out_per_group();
  Taken t{n, group * p.in_per_group(), p.in_per_group(), co % p.out_per_group(), {}, {}};
  for (int64_t k = 0; k < p.kernel_size; k++) {
    const int64_t at = j + p.padding - k * p.dilation;
    if (at % p.stride != 0) continue;
    if (at >= 0 && at / p.stride < p.length)
      t.position_of_tap[k] = at / p.stride;
    else
      t.beside.insert(k);
  }
  return t;
}

// What the thread has read for: the element first, then those it wrote together with it.
class All {
 public:
  All(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j)
      : elements_{taken_by(p, n, co, j)}, biases_{co} {
    if (trace.length <= 0) return;
    const int64_t mine = (n * p.out_channels + co) * trace.length + j;
    for (const int64_t e : trace.together) {
      const int64_t row = e / trace.length;
      if (e == mine || row / p.out_channels >= p.batch) continue;
      elements_.push_back(taken_by(p, row / p.out_channels, row % p.out_channels, e % trace.length));
      biases_.insert(row % p.out_channels);
    }
  }
  template <class Is>
  bool any(Is is) const {
    return std::any_of(elements_.begin(), elements_.end(), is);
  }
  const Taken& first() const { return elements_.front(); }
  size_t size() const { return elements_.size(); }
  bool none_lands() const {
    return !any([](const Taken& t) { return !t.position_of_tap.empty(); });
  }
  const std::set<int64_t>& biases() const { return biases_; }

 private:
  std::vector<Taken> elements_;
  std::set<int64_t> biases_;
};

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
  std::set<std::pair<std::string, int>> brought_by;
  std::set<int64_t> elements;
  bool awaited = false;
};

// Whether a read is stray; then its place is kept by what is wrong with it.
bool stray_of_x(Strays& s, const All& all, const ConvProblem& p, int64_t index) {
  const int64_t n = index / p.length / p.in_channels, ci = index / p.length % p.in_channels, i = index % p.length;
  if (index < 0 || index >= p.x_elements()) return s.outside.insert(index), true;
  if (all.any([&](const Taken& t) { return t.n == n && t.takes_channel(ci) && t.takes_place(i); })) return false;
  if (!all.any([&](const Taken& t) { return t.n == n; })) return s.sequences.insert(n), true;
  if (!all.any([&](const Taken& t) { return t.takes_channel(ci); })) return s.channels.insert(ci), true;
  return s.places.insert(i), true;
}

bool stray_of_w(Strays& s, const All& all, const ConvProblem& p, int64_t index) {
  const int64_t ci = index / p.kernel_size / p.out_per_group(), co = index / p.kernel_size % p.out_per_group(),
                k = index % p.kernel_size;
  if (index < 0 || index >= p.w_elements()) return s.outside.insert(index), true;
  if (all.any([&](const Taken& t) {
        return t.takes_channel(ci) && t.co == co && (t.position_of_tap.contains(k) || t.beside.contains(k));
      }))
    return false;
  if (!all.any([&](const Taken& t) { return t.takes_channel(ci); })) return s.channels.insert(ci), true;
  if (!all.any([&](const Taken& t) { return t.co == co; })) return s.outputs.insert(co), true;
  return s.places.insert(k), true;
}

bool stray_of_b(Strays& s, const All& all, const ConvProblem& p, int64_t index) {
  if (index < 0 || index >= p.b_elements()) return s.outside.insert(index), true;
  if (all.biases().contains(index)) return false;
  return s.outputs.insert(index), true;
}

std::string words_of(char tensor, const Strays& s, const All& all, int64_t co) {
  const std::string name(1, tensor);
  const bool none = all.none_lands(), several = all.size() > 1;
  std::vector<std::string> parts;
  // "channel 3", "channels 3 and 4".
  auto numbered = [](const char* noun, const std::set<int64_t>& values) {
    return fmt::format("{}{} {}", noun, values.size() == 1 ? "" : "s", list_words(values));
  };
  if (!s.outside.empty()) parts.push_back(fmt::format("outside of {} ({})", name, numbered("element", s.outside)));
  if (!s.sequences.empty())
    parts.push_back(fmt::format("{} of {}, not {}", name, numbered("sequence", s.sequences), all.first().n));
  if (!s.channels.empty())
    parts.push_back(fmt::format("{} of {}, which {} not of its group", name, numbered("channel", s.channels),
                                s.channels.size() == 1 ? "is" : "are"));
  if (!s.outputs.empty())
    parts.push_back(several ? fmt::format("{} of {}, none of the {} outputs it writes", name,
                                          numbered("output channel", s.outputs), all.size())
                            : fmt::format("{} of {}, not {}", name, numbered("output channel", s.outputs),
                                          tensor == 'b' ? co : all.first().co));
  if (!s.places.empty() && tensor == 'x')
    parts.push_back(fmt::format("x at i = {}, {}", list_words(s.places),
                                none      ? "where no tap lands"
                                : several ? fmt::format("which no tap of the {} outputs it writes takes", all.size())
                                          : "which none of its taps takes"));
  if (!s.places.empty() && tensor == 'w')
    parts.push_back(fmt::format("w of k = {}, {}", list_words(s.places),
                                none                   ? "though no tap lands"
                                : s.places.size() == 1 ? "a tap that does not reach it"
                                                       : "taps that do not reach it"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Where copies lay, and who brought them there.
std::string origin_words(ElementRead::Where where, const StrayReads& s) {
  using Where = ElementRead::Where;
  if (where == Where::tensor) return "";
  if (where == Where::other) return ", from constants or variables of the file";
  const std::string memory = where == Where::workspace ? ", from a workspace" : ", from shared memory";
  if (s.from_line <= 0) return memory;
  return memory + " that " +
         (s.from_file == s.file ? fmt::format("line {} fills", s.from_line)
                                : fmt::format("{}:{} fills", file_name(s.from_file), s.from_line));
}

// A copy is on its way to where it is read.
std::string awaited_words(const StrayReads& s) {
  const std::string copy = s.from_line <= 0 ? "a copy"
                           : s.from_file == s.file
                               ? fmt::format("the copy of line {}", s.from_line)
                               : fmt::format("the copy of {}:{}", file_name(s.from_file), s.from_line);
  return "shared memory before " + copy + " is there: nobody has waited for it";
}

// Products of what belongs to the element, but not together. Of the line of w that has the first of them.
std::optional<StrayReads> wrong_pairs(const ElementTrace& trace, const All& taken, const ConvProblem& p) {
  if (!trace.products) return {};
  std::vector<std::pair<const ElementRead*, const ElementRead*>> pairs;
  const ElementRead* last = nullptr;
  for (const auto& r : trace.reads) {
    if (r.tensor != 'x' && r.tensor != 'w') continue;
    if (!last) {
      last = &r;
      continue;
    }
    pairs.emplace_back(r.tensor == 'w' ? last : &r, r.tensor == 'w' ? &r : last);
    last = nullptr;
  }
  std::optional<StrayReads> found;
  for (const auto& [x, w] : pairs) {
    if (found && (w->line != found->line || w->file != found->file)) continue;
    const int64_t i = x->index % p.length, x_channel = x->index / p.length % p.in_channels;
    const int64_t k = w->index % p.kernel_size, w_channel = w->index / p.kernel_size / p.out_per_group();
    const auto& taps = taken.first().position_of_tap;
    const auto tap = taps.find(k);
    const bool channels = x_channel != w_channel;
    if (!channels && tap != taps.end() && tap->second == i) continue;
    if (!found) {
      const auto all = std::count_if(pairs.begin(), pairs.end(), [&](const auto& other) {
        return other.second->line == w->line && other.second->file == w->file;
      });
      found = {'w', w->file, w->line, 0, all, {}, w->from_file, w->from_line, {}};
      const auto own = std::find_if(taps.begin(), taps.end(), [&](const auto& t) { return t.second == i; });
      if (channels)
        found->words = fmt::format("w of channel {} for x of channel {}", w_channel, x_channel);
      else if (own != taps.end())
        found->words = fmt::format("w of k = {} for x at i = {}, where k = {} belongs", k, i, own->first);
      else
        return {};
      found->words += origin_words(w->where, *found);
    }
    found->stray++;
  }
  return found;
}

// All that was read is what other elements take, as many as were written: these may be in the wrong places.
std::optional<StrayReads> wrong_place(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co,
                                      int64_t j) {
  constexpr int64_t most_positions = 8192;
  if (trace.writers.size() != 1 || trace.length <= 0) return {};
  std::set<int64_t> x, w, sequences, outputs, biases;
  size_t reads_of_x = 0, products = 0;
  for (const auto& r : trace.reads) {
    if (r.unused) continue;
    reads_of_x += r.tensor == 'x';
    if (r.tensor == 'x' && r.index >= 0 && r.index < p.x_elements()) {
      x.insert(r.index), sequences.insert(r.index / p.length / p.in_channels);
    } else if (r.tensor == 'w' && r.index >= 0 && r.index < p.w_elements()) {
      const int64_t row = r.index / p.kernel_size, group = row / p.out_per_group() / p.in_per_group();
      w.insert(r.index), outputs.insert(group * p.out_per_group() + row % p.out_per_group());
    } else if (r.tensor == 'b') {
      biases.insert(r.index);
    } else {
      return {};
    }
  }
  if (sequences.size() != 1 || outputs.empty() || (!biases.empty() && biases != outputs)) return {};
  const int64_t sequence = *sequences.begin(), first = *outputs.begin();
  auto weight = [&](int64_t ci, int64_t output, int64_t tap) {
    return (ci * p.out_per_group() + output % p.out_per_group()) * p.kernel_size + tap;
  };
  std::set<int64_t> places, positions, its_x, its_w;
  auto holds = [](const std::set<int64_t>& all, const std::set<int64_t>& part) {
    return std::includes(all.begin(), all.end(), part.begin(), part.end());
  };
  int64_t least = p.length, most = 0;
  for (const int64_t e : x) least = std::min(least, e % p.length), most = std::max(most, e % p.length);
  const int64_t from = std::max<int64_t>(least * p.stride - p.padding, 0);
  const int64_t end = std::min(most * p.stride - p.padding + (p.kernel_size - 1) * p.dilation + 1, trace.length);
  if (end - from > most_positions) return {};
  for (int64_t at = from; at < end; at++) {
    const Taken t = taken_by(p, sequence, first, at);
    bool all_there = !t.position_of_tap.empty();
    std::set<int64_t> here_x, here_w;
    for (int64_t ci = t.first_channel; ci < t.first_channel + t.channels && all_there; ci++)
      for (const auto& [tap, i] : t.position_of_tap) {
        all_there &= x.contains(*here_x.insert((sequence * p.in_channels + ci) * p.length + i).first);
        for (const int64_t output : outputs) all_there &= w.contains(*here_w.insert(weight(ci, output, tap)).first);
      }
    if (!all_there) continue;
    for (int64_t ci = t.first_channel; ci < t.first_channel + t.channels; ci++)
      for (const int64_t output : outputs)
        for (const int64_t tap : t.beside) its_w.insert(weight(ci, output, tap));
    products += here_x.size() * outputs.size();
    positions.insert(at), its_x.merge(here_x), its_w.merge(here_w);
    for (const int64_t output : outputs) places.insert((sequence * p.out_channels + output) * trace.length + at);
  }
  std::set<int64_t> written(trace.together.begin(), trace.together.end());
  if (written.empty()) written.insert((n * p.out_channels + co) * trace.length + j);
  if (places.size() != written.size() || places == written || its_x != x || !holds(its_w, w)) return {};
  if (reads_of_x > products) return {};  // it takes products that are nobody's, of the same x and w
  const ElementWriter& writer = trace.writers.front();
  const std::string words =
      fmt::format("what belongs to y[{}, {}, {}]: either the reads or {} wrong", sequence, list_words(outputs),
                  list_words(positions), places.size() == 1 ? "this place is" : "these places are");
  return StrayReads{'y', writer.file, writer.line, 1, 1, words, {}, 0, {}};
}

bool stray_of(Strays& s, const All& all, const ConvProblem& p, char tensor, int64_t index) {
  return tensor == 'x'   ? stray_of_x(s, all, p, index)
         : tensor == 'w' ? stray_of_w(s, all, p, index)
                         : stray_of_b(s, all, p, index);
}

// What reaches the element by way of other threads. Where several write it, the line that does is told, if it is one.
std::vector<StrayReads> reaching(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  const All taken({}, p, n, co, j);
  std::set<std::pair<std::string, int>> adding;
  if (trace.writes > 1)
    for (const ElementWriter& w : trace.writers)
      if (w.launch == trace.writers.back().launch) adding.insert({w.file, w.line});
  const bool adds = adding.size() == 1 && adding.begin()->second > 0;
  constexpr std::string_view tensors = "xwb";  // in this order
  std::map<std::tuple<size_t, std::string, int>, Strays> lines;
  // Biases are what sums begin with: who reads one, writes it.
  auto by_who_adds = [&](char tensor) { return adds && tensor != 'b'; };
  const bool any_x =
      std::any_of(trace.reaching.begin(), trace.reaching.end(), [](const auto& r) { return r.tensor == 'x'; });
  for (const auto& r : trace.reaching) {
    if (r.tensor == 'w' && taken.none_lands() && any_x) continue;  // what is said of x says it
    const auto& [file, line] = by_who_adds(r.tensor) ? *adding.begin() : std::pair(r.file, r.line);
    if (line > 0) stray_of(lines[{tensors.find(r.tensor), file, line}], taken, p, r.tensor, r.index);
  }
  std::vector<StrayReads> all;
  for (const auto& [at, s] : lines) {
    const auto& [order, file, line] = at;
    const std::string what = words_of(tensors[order], s, taken, co);
    if (by_who_adds(tensors[order]))
      all.push_back({'y', file, line, 1, 1, "what comes of " + what, {}, 0, {}});
    else
      all.push_back({tensors[order],
                     file,
                     line,
                     0,
                     0,
                     what + (trace.writes > 1 ? "" : "; it comes to y through other threads"),
                     {},
                     0,
                     {}});
  }
  return all;
}

}  // namespace

bool belongs(const ConvProblem& p, int64_t n, int64_t co, int64_t j, char tensor, int64_t index) {
  Strays s;
  return !stray_of(s, All({}, p, n, co, j), p, tensor, index);
}

std::vector<StrayReads> stray_reads(const ElementTrace& trace, const ConvProblem& p, int64_t n, int64_t co, int64_t j) {
  std::vector<StrayReads> all;
  if (trace.looked_for_reaching) return reaching(trace, p, n, co, j);
  if (trace.unknown) return all;
  const All taken(trace, p, n, co, j);
  std::map<std::tuple<std::string, int, char, ElementRead::Where>, Strays> lines;
  for (const auto& r : trace.reads) {
    if (r.line <= 0 || (r.tensor != 'x' && r.tensor != 'w' && r.tensor != 'b' && r.tensor != '-')) continue;
    Strays& s = lines[{r.file, r.line, r.tensor, r.where}];
    s.all++;
    if (r.tensor == '-') {
      s.stray++;
      s.awaited |= r.awaited;
      if (r.awaited) s.brought_by.insert({r.from_file, r.from_line});
      continue;
    }
    if (!stray_of(s, taken, p, r.tensor, r.index) || r.unused) continue;
    s.stray++;
    s.elements.insert(r.index);
    s.brought_by.insert({r.from_file, r.from_line});
  }
  for (const auto& [line, s] : lines) {
    if (!s.stray) continue;
    const auto& [file, number, tensor, where] = line;
    // Where no tap lands, what is read of x says it of w as well.
    if (tensor == 'w' && taken.none_lands())
      if (auto x = lines.find({file, number, 'x', where}); x != lines.end() && x->second.stray) continue;
    StrayReads stray{tensor, file, number, s.stray, s.all, {}, {}, 0, {s.elements.begin(), s.elements.end()}};
    if (s.brought_by.size() == 1) std::tie(stray.from_file, stray.from_line) = *s.brought_by.begin();
    if (tensor == '-') {
      stray.words = s.awaited ? awaited_words(stray) : "shared memory that nobody has written";
      for (const char other : {'x', 'w', 'b'})
        if (auto it = lines.find({file, number, other, where}); it != lines.end()) stray.all += it->second.all;
    } else {
      stray.words = words_of(tensor, s, taken, co) + origin_words(where, stray);
    }
    all.push_back(std::move(stray));
  }
  if (all.empty())
    if (auto pairs = wrong_pairs(trace, taken, p)) all.push_back(std::move(*pairs));
  // What is read of x tells more than what is read of w for it.
  std::stable_sort(all.begin(), all.end(), [](const StrayReads& a, const StrayReads& b) {
    return std::tuple(a.tensor != 'x', -a.stray) < std::tuple(b.tensor != 'x', -b.stray);
  });
  if (!all.empty())
    if (auto place = wrong_place(trace, p, n, co, j)) all.push_back(std::move(*place));
  return all;
}

}  // namespace convscope
