#include "app/engine/tuning.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "kernels/base/text.h"
#include "kernels/problem/counts.h"

namespace convscope {
using nlohmann::json;
using namespace json_fields;

namespace {

// Products (walked_products) of a small problem: some tenths of a second on the emulator; on the GPU the oracle takes
// as long.
constexpr double most_small = 2e6, most_short = 3e8;

// Forms of a knob that are wrong, or do not compile, before any is right: it is none, and its others are left out.
constexpr int most_fails = 2;

// The times of an entry that count: with weights packed before, where it has these.
json times_of(const json& entry, bool hot) {
  const json& packed = part(entry, "packed");
  if (number(packed, "median_ms")) return hot ? packed : part(packed, "cold");
  return part(entry, hot ? "hot" : "cold");
}

const json& entry_of(const json& answer, const std::string& name) {
  static const json none = json::object();
  for (const auto& e : part(answer, "entries"))
    if (text(e, "name") == name) return e;
  return none;
}

const char* state_word(TriedForm::State s) {
  switch (s) {
    case TriedForm::State::refused:
      return "not-run";
    case TriedForm::State::wrong:
      return "wrong";
    case TriedForm::State::crashed:
      return "crashed";
    case TriedForm::State::timed:
      return "right";
  }
  return "";
}

}  // namespace

std::vector<TuningProblem> tuning_problems(const ConvProblem& asked, bool for_layer) {
  std::vector<TuningProblem> all;
  auto add = [&](ConvProblem p, bool on_emulator, double most_products) {
    while (p.length > 1 && walked_products(p) > most_products) p.length /= 2;
    if (!broken_rules(p).empty() || walked_products(p) > 8 * most_products) return;
    if (std::none_of(all.begin(), all.end(), [&](const auto& other) { return other.problem == p; }))
      all.push_back({p, on_emulator});
  };
  auto small = [&](ConvProblem p, int64_t in, int64_t out, int64_t length) {
    p.batch = std::min<int64_t>(2, p.batch);
    p.in_channels = p.groups * std::min(in, std::max<int64_t>(1, p.in_channels / p.groups));
    p.out_channels = p.groups * std::min(out, std::max<int64_t>(1, p.out_channels / p.groups));
    p.length = length;
    add(p, true, most_small);
  };
  small(asked, 5, 3, 300);   // several blocks of positions
  small(asked, 16, 37, 19);  // of channels, of which the last is not full
  small(asked, asked.in_channels, 2, 11);
  if (!for_layer) {
    ConvProblem other = asked;
    other.stride = asked.stride == 3 ? 2 : 3, other.kernel_size = asked.kernel_size == 5 ? 4 : 5;
    other.padding = 1, other.dilation = asked.dilation == 2 ? 1 : 2, other.output_padding = 0;
    other.bias = !asked.bias;
    small(other, 6, 5, 150);
    // What a file does for groups, or without them, is not to be lost where nothing asks for it.
    other.groups = asked.groups == 1 ? 2 : 1;
    other.in_channels = 6 * other.groups, other.out_channels = 5 * other.groups;
    small(other, 6, 5, 150);
  }
  ConvProblem short_one = asked;
  short_one.batch = 1;
  short_one.length = std::min<int64_t>(short_one.length, 3000);
  add(short_one, false, most_short);
  return all;
}

Tuning::Tuning(TuningSpec spec) : spec_(std::move(spec)) {
  best_.kernel = spec_.request.kernel, best_.text = spec_.text;
  seen_.insert(spec_.text);
  controls_ = tuning_problems(spec_.request.problem, spec_.for_layer);
  changes_ = changes_of(spec_.text);
}

std::vector<TuningChange> Tuning::changes_of(const std::string& text) const {
  return tuning_changes(text, file_of_kernel(spec_.request.kernel), spec_.for_layer ? &spec_.request.problem : nullptr);
}

json Tuning::judge(const std::string& kernel, const TuningProblem& p) const {
  RunRequest r = spec_.request;
  r.kernel = kernel, r.problem = p.problem, r.references = false;
  if (p.on_emulator) r.device = "emulator";
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "judge", header["right_only"] = true;
  return header;
}

json Tuning::bench(const std::vector<std::string>& kernels, int samples) const {
  RunRequest r = spec_.request;
  r.samples = samples;
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header.erase("kernel");
  header["type"] = "bench", header["kernels"] = kernels, header["against"] = kernels.front();
  return header;
}

std::optional<Tuning::Request> Tuning::next() const {
  const std::string& own = spec_.request.kernel;
  const TuningProblem asked{spec_.request.problem, false};
  switch (phase_) {
    case Phase::begin:
      return Request{"", "", judge(own, asked), "is " + file_name(own) + " right", "asked_problem"};
    case Phase::controls:
      return Request{"", "", judge(own, controls_[control_]), "is " + file_name(own) + " right on small problems",
                     "small_problems"};
    case Phase::bring:
      return Request{file_of_kernel(waiting_[form_].kernel),
                     waiting_[form_].text,
                     {},
                     "compile: " + waiting_[form_].words,
                     "compiling"};
    case Phase::small:
      return Request{"", "", judge(waiting_[form_].kernel, controls_[control_]), "judge: " + waiting_[form_].words,
                     "small_problems"};
    case Phase::times: {
      std::vector<std::string> names{best_.kernel};
      for (const auto& f : right_) names.push_back(f.kernel);
      return Request{"", "", bench(names, spec_.samples), "time: " + right_.front().knob, "timing"};
    }
    case Phase::asked: {
      const Form& f = right_[faster_.back().form];
      return Request{"", "", judge(f.kernel, asked), "judge: " + f.words, "asked_problem"};
    }
    case Phase::last:
      return Request{"", "", bench({own, best_.kernel}, 0), "time the file and its best form", "timing"};
    case Phase::over:
      break;
  }
  return {};
}

// To the next knob of the best form that was not tried with it; the last comparison where there is none.
void Tuning::next_knob() {
  const std::string file = file_of_kernel(spec_.request.kernel);
  waiting_.clear(), right_.clear(), faster_.clear();
  form_ = 0, fails_ = 0;
  // Behind the knob that was turned last: what was tried before it comes again with what it changed, but last.
  size_t begin = 0;
  for (size_t i = 0; i < changes_.size(); i++)
    if (changes_[i].knob == knob_) begin = i;
  for (size_t i = 0; i < changes_.size() && !enough_; i++) {
    const std::string knob = changes_[(begin + i) % changes_.size()].knob;
    if (!done_.insert(knob).second) continue;
    knob_ = knob;
    for (const auto& c : changes_) {
      if (c.knob != knob || !seen_.insert(c.text).second) continue;
      Form f;
      f.kernel = fmt::format("tuned/{}/{}{}", ++names_, file_name(file), spec_.request.kernel.substr(file.size()));
      f.text = c.text, f.knob = c.knob, f.words = c.words, f.changes = best_.changes, f.only = best_.only;
      f.changes.push_back(c.words);
      if (!c.only_for.empty()) f.only.push_back(c.only_for);
      waiting_.push_back(std::move(f));
    }
    if (waiting_.empty()) continue;
    phase_ = Phase::bring;
    return;
  }
  left_ = skipped_;
  for (const auto& c : changes_) left_ += !seen_.contains(c.text);
  phase_ = best_.changes.empty() ? Phase::over : Phase::last;
}

void Tuning::next_form() {
  form_++;
  if (form_ < waiting_.size() && fails_ < most_fails) {
    phase_ = Phase::bring;
    return;
  }
  skipped_ += static_cast<int64_t>(waiting_.size() - form_);
  if (right_.empty())
    next_knob();
  else
    phase_ = Phase::times;
}

void Tuning::is_right() {
  right_.push_back(waiting_[form_]);
  next_form();
}

void Tuning::drop(TriedForm::State state, const std::string& reason) {
  tried_.push_back({state, waiting_[form_].knob, waiting_[form_].words, reason, best_.changes, {}, {}, "", false});
  if (right_.empty()) fails_++;
  next_form();
}

void Tuning::end_control(bool right) {
  if (right)
    control_++;
  else  // what the file does not do is not asked of its forms
    controls_.erase(controls_.begin() + static_cast<std::ptrdiff_t>(control_));
  if (control_ >= controls_.size()) next_knob();
}

void Tuning::took(const json& result) {
  const json& verdict = part(result, "verdict");
  const std::string status = text(verdict, "status"), sentence = text(verdict, "sentence");
  const bool right = status == "right";
  const auto state = status == "not-run"                       ? TriedForm::State::refused
                     : status == "crashed" || status == "hung" ? TriedForm::State::crashed
                                                               : TriedForm::State::wrong;
  switch (phase_) {
    case Phase::begin:
      device_ = part(result, "device");
      if (!right) {
        wrong_ = sentence;
        phase_ = Phase::over;
        return;
      }
      phase_ = Phase::controls;
      if (controls_.empty()) next_knob();
      return;
    case Phase::controls:
      return end_control(right);
    case Phase::bring:
      control_ = 0;
      phase_ = Phase::small;
      if (controls_.empty()) is_right();
      return;
    case Phase::small:
      if (!right) return drop(state, sentence);
      if (++control_ >= controls_.size()) is_right();
      return;
    case Phase::times:
      return take_times(result);
    case Phase::asked:
      return take_asked(right, state, sentence);
    case Phase::last:
      compared_ = result;
      phase_ = Phase::over;
      return;
    case Phase::over:
      return;
  }
}

void Tuning::take_times(const json& answer) {
  for (size_t i = 0; i < right_.size(); i++) {
    const Form& f = right_[i];
    const json& e = entry_of(answer, f.kernel);
    const json& held = part(part(e, "against"), spec_.by_hot ? "hot" : "cold");
    TriedForm t;
    t.state = TriedForm::State::timed, t.knob = f.knob, t.words = f.words, t.with = best_.changes;
    t.ms = number(times_of(e, spec_.by_hot), "median_ms"), t.speedup = number(held, "speedup");
    t.verdict = text(held, "verdict");
    if (!t.ms) t.reason = text(e, "reason").empty() ? "it was not timed" : text(e, "reason");
    if (t.verdict == "FASTER" && t.speedup) faster_.push_back({i, tried_.size(), *t.speedup});
    tried_.push_back(std::move(t));
  }
  std::sort(faster_.begin(), faster_.end(), [](const auto& a, const auto& b) { return a.speedup < b.speedup; });
  if (faster_.empty())
    next_knob();
  else
    phase_ = Phase::asked;
}

// The fastest form that is right on the asked problem is the best one from now on.
void Tuning::take_asked(bool right, TriedForm::State state, const std::string& sentence) {
  const Faster f = faster_.back();
  faster_.pop_back();
  if (!right) {
    tried_[f.tried].state = state;
    tried_[f.tried].reason = "right on small problems, and on the asked one " + sentence;
    if (faster_.empty()) next_knob();
    return;
  }
  tried_[f.tried].kept = true;
  speedup_ *= f.speedup;
  best_ = Form(right_[f.form]);
  changes_ = changes_of(best_.text);
  done_.clear();
  next_knob();
}

bool Tuning::failed(const std::string& code, const std::string& message) {
  const auto state = code == "crashed" || code == "hung" ? TriedForm::State::crashed : TriedForm::State::refused;
  if (code == "cancelled") return false;
  switch (phase_) {
    case Phase::controls:
      end_control(false);
      return true;
    case Phase::bring:
    case Phase::small:
      drop(state, message);
      return true;
    case Phase::times:  // one of them, and nobody knows which: none of them
      for (const auto& f : right_)
        tried_.push_back({state, f.knob, f.words, message, best_.changes, {}, {}, "", false});
      next_knob();
      return true;
    case Phase::asked:
      take_asked(false, state, message);
      return true;
    case Phase::begin:
    case Phase::last:
    case Phase::over:
      break;
  }
  return false;
}

void Tuning::enough() {
  if (std::exchange(enough_, true)) return;
  switch (phase_) {
    case Phase::begin:
    case Phase::controls:
      left_ = static_cast<int64_t>(changes_.size());
      phase_ = Phase::over;
      return;
    case Phase::bring:
    case Phase::small:
      skipped_ += static_cast<int64_t>(waiting_.size() - form_);
      if (right_.empty())
        next_knob();
      else
        phase_ = Phase::times;
      return;
    case Phase::times:
    case Phase::asked:
    case Phase::last:
    case Phase::over:
      return;
  }
}

bool Tuning::confirmed() const {
  const json& held = part(part(entry_of(compared_, best_.kernel), "against"), spec_.by_hot ? "hot" : "cold");
  return text(held, "verdict") == "FASTER";
}

json Tuning::document() const {
  auto number_or_null = [](const std::optional<double>& v) { return v ? json(*v) : json(nullptr); };
  auto word_or_null = [](const std::string& w) { return w.empty() ? json(nullptr) : json(w); };
  json tries = json::array();
  for (const auto& t : tried_) {
    json one = {{"knob", t.knob},
                {"change", t.words},
                {"with", t.with},
                {"status", state_word(t.state)},
                {"kept", t.kept},
                {"median_ms", number_or_null(t.ms)},
                {"speedup", number_or_null(t.speedup)},
                {"verdict", word_or_null(t.verdict)}};
    if (!t.reason.empty()) one["reason"] = t.reason;
    tries.push_back(std::move(one));
  }
  const json& best = entry_of(compared_, best_.kernel);
  const json& held = part(part(best, "against"), spec_.by_hot ? "hot" : "cold");
  auto times = [&](const json& e) -> json {
    json t = times_of(e, spec_.by_hot);
    if (!number(t, "median_ms")) return nullptr;
    t.erase("samples_ms"), t.erase("cold");
    return t;
  };
  json problems = json::array();
  for (const auto& c : controls_)
    problems.push_back({{"problem", problem_json(c.problem)}, {"on", c.on_emulator ? "emulator" : "gpu"}});
  json d = {{"kernel", spec_.request.kernel},
            {"problem", problem_json(spec_.request.problem)},
            {"device", device_},
            {"status", !wrong_.empty() ? "wrong"
                       : confirmed()   ? "faster"
                                       : "none"},
            {"by", spec_.by_hot ? "hot" : "cold"},
            {"changes", best_.changes},
            {"only_for", best_.only},
            {"before", times(entry_of(compared_, spec_.request.kernel))},
            {"after", times(best)},
            {"steps_speedup", speedup_},
            {"samples", spec_.samples},
            {"speedup", number_or_null(number(held, "speedup"))},
            {"verdict", word_or_null(text(held, "verdict"))},
            {"judged_on", problems},
            {"tried", tries},
            {"not_tried", left_}};
  d["text"] = best_.changes.empty() ? json(nullptr) : json(best_.text);
  d["conditions"] = compared_.is_object() ? part(compared_, "conditions") : json(nullptr);
  return d;
}

}  // namespace convscope
