// `convscope record`: runs, profiles and compares kernels, and keeps the engine's answers in a session file.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "app/cli/out_file.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "app/engine/packed.h"
#include "app/engine/recording.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using json_fields::number;
using json_fields::part;
using json_fields::text;
using nlohmann::json;
namespace {

using Clock = std::chrono::steady_clock;

// Above this a kernel takes no part in the comparison, where each is run some sixty times.
constexpr double slow_ms = 20, slow_emulated_ms = 400;
// Above this it gets the live and the memory counters, whose five passes it is worth waiting for.
constexpr double too_slow_for_all_ms = 100;

struct Candidate {
  std::string name;
  bool reference = false;
  Accuracy accuracy = Accuracy::strict;  // what it promises
};

// What the planner says of each kernel's time on this problem, or has measured; who is not there does not take it.
std::map<std::string, double> expected_ms(Session& session, const RunRequest& base) {
  std::vector<std::byte> payload;
  json request = request_json(base, payload);
  request.update({{"type", "choose"}, {"accuracy", base.problem.dtype == DType::f32 ? "tf32" : "strict"}});
  std::map<std::string, double> ms;
  try {
    const json answer = session.ask(request).header;
    for (const json& c : answer.at("chosen").at("candidates"))
      for (const char* time : {"predicted_ms", "measured_ms"})
        if (c.at(time).is_number()) ms[text(c, "name")] = c[time].get<double>();
  } catch (const EngineError&) {  // no rung takes the problem: each says so when it is its turn
  }
  return ms;
}

// Should the time end early, what matters most is there: references, then kernels of files, which somebody has named,
// then the rungs that the planner takes for the fastest, and last the first rung, which is slower than the specimens.
// Those of the same accuracy follow each other, since the engine keeps what it knows of the references for one.
// again: taken whether named or not.
std::vector<Candidate> candidates(Session& session, const RunRequest& base, std::vector<std::string> names,
                                  const std::vector<std::string>& again) {
  for (const auto& list_of_names : {names, again})
    for (const auto& name : list_of_names) session.bring(name);  // files: the list has them then
  json list = session.ask({{"type", "list"}, {"what", "kernels"}, {"device", base.device}}).header.at("kernels");
  bool all = names.empty() || std::find(names.begin(), names.end(), "all") != names.end();
  names.insert(names.end(), again.begin(), again.end());
  std::vector<Candidate> references, files, ladder, others;
  for (const auto& k : list) {
    std::string name = text(k, "name"), kind = text(k, "kind");
    bool named = std::erase(names, name) > 0;
    if (!named && !(all && kind != "test" && kind != "outside" && k.value("available", false))) continue;
    Candidate c{name, kind == "reference", accuracy_from(text(k, "accuracy")).value_or(Accuracy::strict)};
    auto& group = c.reference ? references : kind == "outside" ? files : kind == "ladder" ? ladder : others;
    group.insert(c.reference || kind == "outside" ? group.end() : group.begin(), c);
  }
  std::erase(names, "all");
  if (!names.empty()) {
    std::vector<std::string> known;
    for (const auto& k : list) known.push_back(text(k, "name"));
    std::string near = nearest_name(names.front(), known);
    throw InputError(
        "kernel", names.front(),
        near.empty() ? "is not known: see `convscope list kernels`" : "is not known; did you mean " + near + "?");
  }
  const auto predicted = expected_ms(session, base);
  auto place = [&](const Candidate& c) {
    auto it = predicted.find(c.name);
    const double ms = it == predicted.end() ? std::numeric_limits<double>::infinity() : it->second;
    return std::tuple(-static_cast<int>(c.accuracy), c.name == "direct", ms);
  };
  std::stable_sort(ladder.begin(), ladder.end(),
                   [&](const Candidate& a, const Candidate& b) { return place(a) < place(b); });
  const bool last = !ladder.empty() && ladder.back().name == "direct";
  references.insert(references.end(), files.begin(), files.end());
  references.insert(references.end(), ladder.begin(), ladder.end() - (last ? 1 : 0));
  references.insert(references.end(), others.begin(), others.end());
  if (last) references.push_back(ladder.back());
  return references;
}

// Whoever adds to a file reads it, puts his own in and writes it within one of these, so that nobody's answers are
// lost. By a file beside it, which goes with the lock. Where there are no locks it holds nothing.
class AddingLock {
 public:
  explicit AddingLock(const std::string& file) {
    std::error_code error;
    const std::filesystem::path meant = std::filesystem::weakly_canonical(file, error);
    beside_ = (error ? file : meant.string()) + ".lock";
    while ((descriptor_ = open(beside_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) >= 0) {
      while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
      }
      // Who had it before has taken it away: the next one made another.
      struct stat mine {};
      struct stat there {};
      if (fstat(descriptor_, &mine) == 0 && stat(beside_.c_str(), &there) == 0 && mine.st_ino == there.st_ino) return;
      close(descriptor_);
    }
  }
  ~AddingLock() {
    if (descriptor_ >= 0) unlink(beside_.c_str()), close(descriptor_);
  }
  AddingLock(const AddingLock&) = delete;

 private:
  std::string beside_;
  int descriptor_ = -1;
};

class Recorder {
 public:
  Recorder(const CommonOptions& common, const RecordOptionsCli& options, const ProblemOptions& given,
           Recording recording)
      : common_(common),
        session_(std::make_unique<Session>(common)),
        options_(options),
        given_(given),
        date_(today()),
        r_(std::move(recording)) {
    base_ = given.request("", common.device);
    if (!options.limit.empty()) limit_s_ = real_number("limit", options.limit);
    if (limit_s_ < 0) throw InputError("limit", options.limit, "must not be negative");
  }

  void run() {
    auto all = candidates(*session_, base_, options_.kernels, options_.again);
    if (all.empty()) throw InputError("kernel", "", "is missing: no kernel can run here");
    for (const auto& c : all)
      if (const std::string text = session_->brought_text(c.name); !text.empty())
        text_hashes_[c.name] = kernel_text_hash(text);
    drop_other_texts(r_);
    json info = session_->ask({{"type", "info"}}).header;
    for (const char* own : {"id", "type"}) info.erase(own);
    // A verdict of each that is no reference, a profile of each, and the comparison; what the file holds is done.
    steps_ =
        all.size() + 1 +
        static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Candidate& c) { return !c.reference; }));
    r_.about.update({{"convscope", CONVSCOPE_VERSION}, {"date", date_}, {"command", options_.command}, {"info", info}});
    // Counters first, since nothing else has them: verdicts can be had on the emulator as well.
    each(all, &Recorder::profile);
    step_ = all.size();
    const double limit = std::exchange(limit_s_, 0);  // what there is can be compared all the same: that takes seconds
    try {
      if (!interrupted_) compare();
    } catch (const Stop&) {
    }
    step_ = all.size() + 1;
    limit_s_ = limit;
    each(all, &Recorder::judge);
    each(all, &Recorder::sample);
    if (left_out_.empty())
      r_.about.erase("left_out");
    else
      r_.about["left_out"] = left_out_;
  }

  // With what is new put into `now`, which the file holds now: others may have added to it meanwhile.
  Recording with_what_is_new(Recording now) const {
    drop_other_texts(now);
    for (const RecordedAnswer& a : new_.answers) {
      // A file has one comparison: of two that were made at the same time that of more kernels.
      const RecordedAnswer* other = a.type() == "bench" ? now.find("bench", base_) : nullptr;
      if (other && other->answer != compared_before_ &&
          part(other->answer, "entries").size() > part(a.answer, "entries").size())
        continue;
      now.add(a.request, a.answer, a.payload, a.date);
    }
    now.about.erase("left_out");
    now.about.update(r_.about);
    return now;
  }

  const Recording& recording() const { return r_; }
  bool interrupted() const { return interrupted_; }  // and something is left out for it
  int added() const { return added_; }
  const json& left_out() const { return left_out_; }

 private:
  struct Stop {};  // by Ctrl-C or the time limit: what is done is kept

  void each(const std::vector<Candidate>& all, void (Recorder::*part)(const Candidate&)) {
    try {
      for (const auto& c : all)
        if (!interrupted_) (this->*part)(c), step_ += part != &Recorder::judge || !c.reference;
    } catch (const Stop&) {
    }
  }

  // "  3 of 27 ", as wide for each.
  std::string place() const {
    const std::string last = std::to_string(steps_);
    return fmt::format("{:>{}} of {}  ", std::min(step_ + 1, steps_), last.size(), last);
  }
  void tell(const std::string& line) const { std::fprintf(stderr, "%s%s\n", place().c_str(), line.c_str()); }

  void leave_out(const std::string& what, const std::string& why) {
    left_out_.push_back({{"what", what}, {"reason", why}});
    std::fprintf(stderr, "convscope: %s is left out: %s\n", what.c_str(), why.c_str());
  }

  // The answer, kept; null when there is none.
  json ask(const char* type, const RunRequest& r, const json& more) {
    const std::string what = fmt::format("{} {}", type, r.kernel.empty() ? "of all" : r.kernel);
    stop_where_asked_to(what);
    std::vector<std::byte> payload;
    json header = request_json(r, payload);
    header["type"] = type;
    header.update(more);
    try {
      Received answer = session_->ask(header, std::move(payload), place() + what);
      if (json device = answer.header.value("device", json()); device.is_object()) r_.about["device"] = device;
      keep(header, answer.header, std::move(answer.payload));
      return answer.header;
    } catch (const EngineError& e) {
      std::string code = e.error().value("code", "");
      if (code == "cancelled" || session_->interrupted()) stop_interrupted(what);
      if ((code == "crashed" || code == "hung") && header["type"] == "run") {
        json lost = lost_report(*session_, r, e.error());
        keep(header, lost, {});
        return lost;
      }
      leave_out(what, e.what());
      return nullptr;
    }
  }

  // Answers about a kernel's file that held something else are not about what is recorded now.
  void drop_other_texts(Recording& r) const {
    std::erase_if(r.answers, [&](const RecordedAnswer& a) {
      auto it = text_hashes_.find(a.asked.kernel);
      return it != text_hashes_.end() && text(part(a.answer, "kernel"), "text_hash") != it->second;
    });
  }

  // Of kernels that are files the name may stay and the text change: what it was is kept with each answer.
  void put_text_hash(json& of_kernel, const std::string& name) const {
    if (auto it = text_hashes_.find(name); it != text_hashes_.end() && of_kernel.is_object())
      of_kernel["text_hash"] = it->second;
  }

  void keep(const json& request, json answer, std::vector<std::byte> payload) {
    if (auto kernel = answer.find("kernel"); kernel != answer.end()) put_text_hash(*kernel, text(request, "kernel"));
    if (auto entries = answer.find("entries"); entries != answer.end() && entries->is_array())
      for (auto& e : *entries) put_text_hash(e, text(e, "name"));
    new_.add(request, answer, payload, date_);
    r_.add(request, answer, std::move(payload), date_);
    added_++;
  }

  double limit_ms() const {
    bool emulated = text(r_.about.value("device", json::object()), "kind") == "emulator";
    return emulated ? slow_emulated_ms : slow_ms;
  }

  RunRequest request_for(const Candidate& c) const {
    RunRequest r = base_;
    r.kernel = c.name;
    if (given_.accuracy.empty() && r.problem.dtype == DType::f32) r.accuracy = c.accuracy;
    return r;
  }

  // What the file holds of it stays.
  bool kept(const Candidate& c) const {
    return options_.add && std::find(options_.again.begin(), options_.again.end(), c.name) == options_.again.end();
  }

  void profile(const Candidate& c) {
    RunRequest r = request_for(c);
    const RecordedAnswer* before = kept(c) ? r_.find("profile", r) : nullptr;
    // Where warps are comes last: it takes an engine of its own for each.
    json answer =
        before ? before->answer
               : ask("profile", r, {{"set", options_.set}, {"slow_ms", too_slow_for_all_ms}, {"pc_sampling", false}});
    if (!answer.is_object()) return;
    const std::optional<double> ms = number(part(part(answer, "timing"), "hot"), "median_ms");
    if (!before) tell(fmt::format("{:<14} profile   {:>10}", c.name, ms ? time_text(*ms) : "no time"));
    if (ms && *ms <= limit_ms()) timed_in_turn_.push_back(c.name);
  }

  void judge(const Candidate& c) {
    RunRequest r = request_for(c);
    if (c.reference || (kept(c) && r_.find("run", r))) return;
    json answer = ask("run", r, json::object());
    if (!answer.is_object()) return;
    const json& verdict = answer.at("verdict");
    tell(fmt::format("{:<14} {:<9} {}", c.name, text(verdict, "status"), text(verdict, "sentence")));
  }

  // Put into the profile that is there. In an engine that has counted, CUPTI does not know the functions.
  void sample(const Candidate& c) {
    RunRequest r = request_for(c);
    const RecordedAnswer* profile = r_.find("profile", r);
    if (!profile || profile->answer.value("set", json()) != "full") return;
    const json device = profile->answer.value("device", json::object());
    const json there = profile->answer.value("pc_sampling", json::object());
    if (text(device, "kind") == "emulator" || !there.is_object() || there.value("source", json()).is_string()) return;
    if (const json gap = there.value("gap", json()); gap.is_object() && text(gap, "code") != "not-asked") return;
    const std::string what = "samples of " + c.name;
    stop_where_asked_to(what);
    std::vector<std::byte> payload;
    json header = request_json(r, payload);
    header["type"] = "samples";
    try {
      // The engine before this one goes with its hold on the hardware's counters.
      session_ = std::make_unique<Session>(common_);
      json samples = session_->ask(header, std::move(payload), what).header.at("pc_sampling");
      if (auto it = text_hashes_.find(c.name);
          it != text_hashes_.end() && kernel_text_hash(session_->brought_text(c.name)) != it->second) {
        leave_out(what, "its file was changed meanwhile");
        return;
      }
      json question = profile->request, whole = profile->answer;
      whole["pc_sampling"] = samples;
      std::fprintf(stderr, "%-14s samples   %10s\n", c.name.c_str(), samples.value("samples", json(0)).dump().c_str());
      keep(question, whole, {});
    } catch (const InputError& e) {  // the kernel's file is not there any more
      leave_out(what, e.what());
    } catch (const EngineError& e) {
      if (session_->interrupted()) stop_interrupted(what);
      leave_out(what, e.what());
    }
  }

  [[noreturn]] void stop_interrupted(const std::string& what) {
    interrupted_ = true;
    leave_out(what + " and what follows", "interrupted");
    throw Stop{};
  }

  void stop_where_asked_to(const std::string& what) {
    if (session_->interrupted()) stop_interrupted(what);
    double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (limit_s_ <= 0 || spent <= limit_s_) return;
    leave_out(what + " and what follows", fmt::format("the limit of {:g} s is reached", limit_s_));
    throw Stop{};
  }

  void compare() {
    RunRequest r = base_;
    r.kernel.clear();
    const RecordedAnswer* before = options_.add ? r_.find("bench", r) : nullptr;
    if (before && added_ == 0) return;
    if (before) compared_before_ = before->answer;
    // A file has one comparison: that of a few does not take the place of that of many.
    for (const json& e : before ? part(before->answer, "entries") : json::array())
      if (const std::string name = text(e, "name");
          number(part(e, "hot"), "median_ms") &&
          std::find(timed_in_turn_.begin(), timed_in_turn_.end(), name) == timed_in_turn_.end()) {
        if (names_file(name) && session_->brought_text(name).empty())
          leave_out(name + " in the comparison", "its file was not named, so it was not timed again");
        else
          timed_in_turn_.push_back(name);
      }
    if (timed_in_turn_.size() < 2) return;
    json answer = ask("bench", r, {{"kernels", timed_in_turn_}, {"against", ""}});
    if (answer.is_object())
      tell(fmt::format("{:<14} {} kernels, {} rounds", "compared", timed_in_turn_.size(), answer.value("rounds", 0)));
  }

  const CommonOptions& common_;
  std::unique_ptr<Session> session_;
  const RecordOptionsCli& options_;
  const ProblemOptions& given_;
  RunRequest base_;
  std::string date_;
  Recording r_;
  double limit_s_ = 0;
  Clock::time_point begin_ = Clock::now();
  std::map<std::string, std::string> text_hashes_;  // of kernels that are files, by their names
  std::vector<std::string> timed_in_turn_;
  json left_out_ = json::array();
  Recording new_;  // of r_ what was added
  json compared_before_;
  bool interrupted_ = false;
  int added_ = 0;
  size_t step_ = 0, steps_ = 0;  // samples of warps are beside these, on GPUs
};

// A name that was meant for something else (a kernel, a source file) must not become a recording, nor one's own file.
void require_place(const std::string& out) {
  require_no_folder("out", out);
  if (!out.ends_with(".convscope")) throw InputError("out", out, "must end in .convscope: it becomes a recording");
  std::error_code error;
  // What is no regular file is written to directly, and an empty one has nothing to lose.
  if (std::filesystem::is_regular_file(out, error) && std::filesystem::file_size(out, error) > 0 &&
      !is_recording_file(out))
    throw InputError("out", out, "is there and holds no recording: take another name");
}

}  // namespace

int verb_record(const CommonOptions& common, const ProblemOptions& problem, const RecordOptionsCli& options) {
  require_set(options.set);
  if (!options.again.empty() && !options.add)
    throw InputError("again", options.again.front(), "goes with --add, which keeps the rest");
  require_place(options.out);
  Recording before;
  std::error_code error;
  if (options.add && std::filesystem::exists(options.out, error)) before = read_recording(options.out);
  OutFile file("out", options.out);  // said before the work, not after it
  Recorder recorder(common, options, problem, std::move(before));
  recorder.run();
  if (recorder.added() == 0) {
    if (recorder.interrupted()) throw Cancelled();
    throw EngineError({{"code", "failed"}, {"message", "nothing was recorded"}, {"exit_code", 1}},
                      "nothing was recorded: the lines above say why");
  }
  Recording r = recorder.recording();
  json session = json::object();
  std::string bytes;
  {
    std::optional<AddingLock> lock;
    if (options.add) lock.emplace(options.out);
    if (options.add && std::filesystem::exists(options.out, error)) try {
        r = recorder.with_what_is_new(read_recording(options.out));
        session = read_json_file("recording", options.out);
        session.erase("problem"), session.erase("kernel");  // what it begins with is chosen anew
      } catch (const InputError&) {  // spoiled meanwhile: what it held at the beginning is still known
        r = recorder.recording();
      }
    bytes = packed(session_of(r, std::move(session)).dump(-1, ' ', false, json::error_handler_t::replace));
    file.write(bytes);
    file.finish();
  }
  json kernels = json::array();
  for (const auto& p : r.problems())
    for (const auto& k : r.kernels("profile", p)) kernels.push_back(k);
  if (common.json)
    print_json({{"recording", options.out},
                {"source", r.source()},
                {"answers", r.answers.size()},
                {"added", recorder.added()},
                {"bytes", bytes.size()},
                {"profiles", kernels},
                {"interrupted", recorder.interrupted()},
                {"left_out", recorder.left_out()}});
  else
    fmt::print("{}: {} answers of {}, {}{}{}\n", options.out, r.answers.size(), r.source(), bytes_text(bytes.size()),
               recorder.left_out().empty() ? "" : fmt::format(", {} left out", recorder.left_out().size()),
               recorder.interrupted() ? ", interrupted: what is missing was not recorded" : "");
  return recorder.interrupted() ? interrupted_code : 0;
}

}  // namespace convscope
