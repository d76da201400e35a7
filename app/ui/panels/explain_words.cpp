#include "app/ui/panels/explain_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "app/ui/widgets.h"

namespace convscope::ui {
namespace {

constexpr size_t most_idle_shown =
    16;  // taps; with more, those that neither should nor do bring anything are counted only

const char* plural(size_t n) { return n == 1 ? "" : "s"; }
const char* verb(size_t n) { return n == 1 ? "s" : ""; }

std::string sentence_of(const Explained& e) {
  size_t extra = 0, missing = 0, moved = 0, beside = 0, strange = 0, belonging = 0;
  for (const auto& t : e.taps) {
    TapState s = tap_state(t);
    extra += s == TapState::extra, missing += s == TapState::missing, moved += s == TapState::moved,
        beside += s == TapState::beside, strange += s == TapState::strange;
    belonging += t.expected_i.has_value();
  }
  // Whatever its inputs are: nothing is told of its taps.
  if (!e.taps.empty() &&
      std::all_of(e.taps.begin(), e.taps.end(), [](const auto& t) { return !std::isfinite(t.count); }))
    return "What its taps take cannot be told: it is no number.";
  std::vector<std::string> parts;
  if (extra)
    parts.push_back(fmt::format("{} tap{} take{} an input where none belongs", extra, plural(extra), verb(extra)));
  if (moved) parts.push_back(fmt::format("{} tap{} take{} the wrong input", moved, plural(moved), verb(moved)));
  if (missing)
    parts.push_back(
        fmt::format("{} tap{} take{} nothing where an input belongs", missing, plural(missing), verb(missing)));
  if (beside)
    parts.push_back(fmt::format("{} tap{} go{} on to what lies beside {} row of x", beside, plural(beside),
                                beside == 1 ? "es" : "", beside == 1 ? "its" : "their"));
  if (strange)
    parts.push_back(
        fmt::format("{} tap{} take{} something else than one input, once", strange, plural(strange), verb(strange)));
  std::string s;
  for (size_t i = 0; i < parts.size(); i++) s += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  if (s.empty() && e.taps.empty()) return "The kernel does not have this element.";
  if (s.empty())
    s = fmt::format("Every tap {}takes the input it should{}", e.all_taps ? "" : "that was tried ",
                    e.notes.empty() ? "" : ", but:");
  if (s.back() != ':') s += ".";
  if (belonging == 0 && e.all_taps) {
    const ConvProblem& p = e.document.problem;
    bool divides = std::any_of(e.taps.begin(), e.taps.end(),
                               [&](const auto& t) { return (e.j + p.padding - t.k * p.dilation) % p.stride == 0; });
    s += fmt::format(" No tap belongs here: {}, so it should be exactly {}.",
                     divides
                         ? "all point outside the input"
                         : fmt::format("s = {} divides {} + {} − k·{} for no k", p.stride, e.j, p.padding, p.dilation),
                     p.bias ? "the bias" : "0");
  }
  return s;
}

}  // namespace

std::string signed_text(double v) { return fmt::format("{}{}", v > 0 ? "+" : "", value_text(v)); }

ExplainWords words_of(const Explained& e) {
  static uint64_t serial = 0;
  const ConvProblem& p = e.document.problem;
  ExplainWords w;
  w.serial = ++serial;
  w.place = fmt::format("y[{}, {}, {}]", e.n, e.co, e.j);
  w.got = value_text(e.got), w.expected = value_text(e.expected);
  w.error = std::isfinite(e.got) ? signed_text(e.got - e.expected) : "not finite";
  w.forward = fmt::format("j = i·s − p + k·d = i·{} − {} + k·{}", p.stride, p.padding, p.dilation);
  w.inverse = fmt::format("i = (j + p − k·d)/s = ({} + {} − k·{})/{}", e.j, p.padding, p.dilation, p.stride);
  w.sentence = sentence_of(e), w.differs = e.differs();
  for (const auto& n : e.notes) {
    if (n.empty()) continue;
    w.notes.push_back(
        fmt::format("{}{}.", static_cast<char>(std::toupper(static_cast<unsigned char>(n[0]))), n.substr(1)));
  }
  std::optional<double> reads = e.read_total;
  for (const auto& t : e.taps) {
    if (reads) reads = t.read_sum ? std::optional(*reads - *t.read_sum) : std::nullopt;
  }
  // What is left of the kernel's total is its bias; what rounding leaves of an absent one is none.
  if (reads && std::fabs(*reads) < 1e-12 * (1 + std::fabs(*e.read_total))) reads = 0;
  if (p.bias)
    w.bias_name = fmt::format("bias b[{}]", e.co), w.bias = signed_text(e.bias),
    w.kernel_bias = reads ? signed_text(*reads) : "not known";
  double expected = e.bias;
  std::optional<double> kernel = reads ? reads : std::optional(e.bias);
  if (!e.read_total && p.bias) kernel.reset();
  bool collapse = e.taps.size() > most_idle_shown;
  for (size_t i = 0; i < e.taps.size(); i++) {
    const ExplainedTap& t = e.taps[i];
    TapState s = tap_state(t);
    expected += t.expected_sum;
    kernel = kernel && t.read_sum ? std::optional(*kernel + *t.read_sum) : std::nullopt;
    if (s == TapState::idle && collapse) {
      w.idle++;
      continue;
    }
    TapWords x;
    x.k = t.k, x.state = s;
    x.name = fmt::format("k = {}", t.k);
    x.formula = "i = " + t.formula;
    x.note = t.note;
    x.expected = t.expected_i ? fmt::format("i = {}", *t.expected_i) : "nothing";
    if (t.expected_i) x.expected_sum = signed_text(t.expected_sum);
    x.kernel = t.read_i                  ? fmt::format("i = {}", *t.read_i)
               : t.beside_i              ? fmt::format("i = {}, beside its row", *t.beside_i)
               : t.note.empty()          ? "nothing"
               : !std::isfinite(t.count) ? "not known"
                                         : fmt::format("{} inputs", value_text(t.count));
    if ((t.read_i || t.beside_i) && t.read_sum) x.kernel_sum = signed_text(*t.read_sum);
    x.expected_so_far = expected, x.kernel_so_far = kernel;
    w.order.push_back(static_cast<int>(i));
    w.taps.push_back(std::move(x));
  }
  w.expected_total = value_text(e.expected);
  w.kernel_total = e.read_total ? value_text(*e.read_total) : "not known";
  if (e.read_total)
    w.check = fmt::format("What the kernel reads adds up to {}; it wrote {}.", value_text(*e.read_total), w.got);
  else if (!e.all_taps)
    w.check = fmt::format("{} taps near the expected ones were tried, of {}.", e.taps.size(), p.kernel_size);
  else if (!e.taps.empty())
    w.check = fmt::format("What the kernel reads is no plain sum over these taps; it wrote {}.", w.got);
  return w;
}

std::string csv_of(const Explained& e) {
  std::string s = "k,formula,expected_i,read_i,inputs_taken,expected_sum,read_sum,note\n";
  auto index = [](const std::optional<int64_t>& v) { return v ? std::to_string(*v) : ""; };
  for (const auto& t : e.taps)
    s += fmt::format("{},\"{}\",{},{},{},{},{},\"{}\"\n", t.k, t.formula, index(t.expected_i), index(t.read_i), t.count,
                     t.expected_sum, t.read_sum ? fmt::format("{}", *t.read_sum) : "", t.note);
  return s + fmt::format("# y[{} {} {}] got {} expected {} bias {}\n", e.n, e.co, e.j, e.got, e.expected, e.bias);
}

std::string read_name(char tensor) { return tensor == '-' ? "unset shared memory" : std::string(1, tensor); }

TraceWords words_of(const Traced& t, const Report& r) {
  TraceWords w;
  for (const auto& writer : t.writers) {
    std::string block = std::to_string(writer.block);
    if (r.launches.size() == 1) {
      auto grid = r.launches[0].grid;
      if (grid[1] * grid[2] > 1 && grid[0] > 0)
        block = fmt::format("({}, {}, {})", writer.block % grid[0], writer.block / grid[0] % grid[1],
                            writer.block / grid[0] / grid[1]);
    }
    std::string where = writer.line ? fmt::format("{}:{}", file_name(writer.file), writer.line) : "line not known";
    w.writers.push_back(fmt::format("block {}, thread {}, {}", block, writer.thread, where));
    if (!w.line) w.line = writer.line, w.file = writer.file;
  }
  const ConvProblem& p = r.document.problem;
  std::map<char, int64_t> reads;
  std::map<char, int64_t> outside;
  auto elements = [&](char tensor) {
    return tensor == 'x'   ? p.x_elements()
           : tensor == 'w' ? p.w_elements()
           : tensor == 'b' ? p.b_elements()
                           : p.y_elements();
  };
  for (const auto& read : t.reads) {
    reads[read.tensor]++;
    if (read.index < 0 || read.index >= elements(read.tensor)) outside[read.tensor]++;
  }
  auto list = [](const std::map<char, int64_t>& counts) {
    std::string s;
    for (const auto& [tensor, count] : counts)
      s += fmt::format("{}{} of {}", s.empty() ? "" : ", ", grouped(count), read_name(tensor));
    return s;
  };
  if (t.reads_total > 0) {
    bool all = t.reads_total == static_cast<int64_t>(t.reads.size());
    w.reads = fmt::format("read {} time{} for it", grouped(t.reads_total), t.reads_total == 1 ? "" : "s");
    w.reads += all ? ": " + list(reads)
                   : fmt::format("; of the first {}: {}", grouped(static_cast<int64_t>(t.reads.size())), list(reads));
  }
  if (t.through_shared || t.through_workspace) {
    const char* where = !t.through_workspace ? "shared memory"
                        : t.through_shared   ? "a workspace and shared memory"
                                             : "a workspace";
    w.reads += (w.reads.empty() ? "read through " : ", through ") + std::string(where);
  }
  if (t.unknown > 0)
    w.reads += fmt::format("{}{} more came from other threads, or had been computed with", w.reads.empty() ? "" : "; ",
                           grouped(t.unknown));
  for (const auto& s : t.strays)
    w.strays.push_back({fmt::format("{}:{}", file_name(s.file), s.line),
                        s.words.starts_with("writes ") || s.reads == 0
                            ? s.words
                            : fmt::format("{} ({} of its {} read{})", s.words, grouped(s.stray), grouped(s.reads),
                                          s.reads == 1 ? "" : "s"),
                        s.file, s.line, s.from_file, s.from_line});
  if (!outside.empty()) w.outside = "outside the tensor: " + list(outside);
  return w;
}

}  // namespace convscope::ui
