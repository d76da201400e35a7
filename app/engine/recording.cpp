#include "app/engine/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "app/engine/packed.h"
#include "app/engine/profile_codec.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using json_fields::number;
using json_fields::part;
using json_fields::text;
using nlohmann::json;
namespace {

constexpr int recording_version = 1;
constexpr const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// RFC 4648, section 4.
std::string base64(const std::vector<std::byte>& bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t b = 0; b < 3; b++) word = word << 8 | (b < n ? static_cast<uint32_t>(bytes[i + b]) : 0);
    for (size_t c = 0; c < 4; c++) out += c <= n ? alphabet[word >> (18 - 6 * c) & 63] : '=';
  }
  return out;
}

bool from_base64(const std::string& text, std::vector<std::byte>& bytes) {
  static const auto value = [] {
    std::array<int8_t, 256> v;
    v.fill(-1);
    for (int i = 0; i < 64; i++) v[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
    return v;
  }();
  if (text.size() % 4 != 0) return false;
  bytes.clear();
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t n = 4;
    if (i + 4 == text.size()) n = text[i + 2] == '=' && text[i + 3] == '=' ? 2 : text[i + 3] == '=' ? 3 : 4;
    uint32_t word = 0;
    for (size_t c = 0; c < 4; c++) {
      int v = c < n ? value[static_cast<uint8_t>(text[i + c])] : 0;
      if (v < 0) return false;
      word = word << 6 | static_cast<uint32_t>(v);
    }
    for (size_t b = 0; b + 1 < n; b++) bytes.push_back(static_cast<std::byte>(word >> (16 - 8 * b) & 255));
  }
  return true;
}

bool same_question(const RecordedAnswer& a, const std::string& type, const RunRequest& asked) {
  if (a.type() != type || !(a.asked.problem == asked.problem) || !(a.asked.inputs == asked.inputs)) return false;
  return type == "bench" || (a.asked.kernel == asked.kernel && a.asked.accuracy == asked.accuracy);
}

bool is_version_up_to(const json& version, int newest) {
  return version.is_number_integer() && version >= 1 && version <= newest;
}

RunRequest question_of(const json& request) {
  // Values of files would be as large as the tensors; they are the only payload of a question.
  if (auto files = request.find("files"); files != request.end() && !files->empty())
    throw InputError("input", files->begin()->is_object() ? text(*files->begin(), "name") : "",
                     "is a file: a recording is of inputs that a seed draws");
  RunRequest r = request_from(request, {});
  require_legal(r.problem);
  return r;
}

void mark(json& j, const std::string& recorded) {
  if (j.is_array()) {
    // Samples and the like have no sources.
    if (!j.empty() && !j.front().is_structured()) return;
    for (auto& each : j) mark(each, recorded);
  } else if (j.is_object()) {
    for (auto& [name, value] : j.items()) {
      bool source = name == "source" || name.ends_with("_source");
      if (source && value.is_string())
        value = recorded_source(value.get<std::string>(), recorded);
      else
        mark(value, recorded);
    }
  }
}

}  // namespace

std::string Recording::device_name() const {
  std::string name = text(part(about, "device"), "name");
  return name.empty() ? "a machine without a name" : name;
}

std::string Recording::source() const {
  std::string date = text(about, "date");
  return device_name() + (date.empty() ? "" : ", " + date);
}

std::string Recording::source(const RecordedAnswer& a) const {
  std::string name = text(part(a.answer, "device"), "name");
  std::string date = a.date.empty() ? text(about, "date") : a.date;
  return (name.empty() ? device_name() : name) + (date.empty() ? "" : ", " + date);
}

const RecordedAnswer* Recording::find(const std::string& type, const RunRequest& asked) const {
  for (auto a = answers.rbegin(); a != answers.rend(); ++a)
    if (same_question(*a, type, asked)) return &*a;
  return nullptr;
}

std::vector<std::string> Recording::kernels(const std::string& type, const ConvProblem& problem) const {
  std::vector<std::string> names;
  for (const auto& a : answers)
    if (a.type() == type && a.asked.problem == problem && !a.asked.kernel.empty() &&
        std::find(names.begin(), names.end(), a.asked.kernel) == names.end())
      names.push_back(a.asked.kernel);
  return names;
}

std::vector<ConvProblem> Recording::problems() const {
  std::vector<ConvProblem> list;
  for (const auto& a : answers)
    if (std::find(list.begin(), list.end(), a.asked.problem) == list.end()) list.push_back(a.asked.problem);
  return list;
}

void Recording::add(json request, json answer, std::vector<std::byte> payload, const std::string& date) {
  for (json* j : {&request, &answer}) j->erase("id");
  answer.erase("type");
  RecordedAnswer a;
  a.request = std::move(request), a.answer = std::move(answer), a.payload = std::move(payload), a.date = date;
  a.asked = question_of(a.request);
  std::erase_if(answers, [&](const RecordedAnswer& old) { return same_question(old, a.type(), a.asked); });
  answers.push_back(std::move(a));
}

Recording recording_from(const json& session, const std::string& path) {
  Recording r;
  auto it = session.find("recording");
  if (it == session.end() || it->is_null()) return r;
  auto bad = [&](const std::string& rule) { throw InputError("recording", path, rule); };
  if (!it->is_object()) bad("has a field recording of the wrong type");
  json j = *it;
  auto version = j.find("version");
  if (version == j.end() || !version->is_number_integer()) bad("has a recording without a version");
  if (!is_version_up_to(*version, recording_version))
    bad("holds a recording of version " + version->dump() + ": this program reads up to " +
        std::to_string(recording_version));
  json list = j.value("answers", json::array());
  if (!list.is_array()) bad("has answers that are no list");
  if (list.size() > most_recorded_answers)
    bad("has " + std::to_string(list.size()) + " answers: at most " + std::to_string(most_recorded_answers));
  for (size_t i = 0; i < list.size(); i++) {
    json& each = list[i];
    const std::string where = "answer " + std::to_string(i + 1);
    if (!each.is_object() || !each.contains("request") || !each["request"].is_object() || !each.contains("answer") ||
        !each["answer"].is_object())
      bad("has no question or no answer in " + where);
    RecordedAnswer a;
    if (auto payload = each.find("payload"); payload != each.end())
      if (!payload->is_string() || !from_base64(payload->get_ref<const std::string&>(), a.payload))
        bad("has a payload that is no base64 in " + where);
    a.request = std::move(each["request"]), a.answer = std::move(each["answer"]);
    if (!a.request.contains("type") || !a.request["type"].is_string()) bad("has no type in the request of " + where);
    a.date = text(each, "date");
    for (const char* known : {"request", "answer", "payload", "date"}) each.erase(known);
    a.unknown = std::move(each);
    try {
      a.asked = question_of(a.request);
    } catch (const InputError& e) {
      bad("cannot be read in " + where + ": " + e.what());
    } catch (const json::exception&) {
      bad("cannot be read in " + where + ": its request has a field of the wrong type");
    }
    r.answers.push_back(std::move(a));
  }
  j.erase("answers"), j.erase("version");
  r.about = std::move(j);
  return r;
}

json recording_json(const Recording& r) {
  json j = r.about;
  j["version"] = recording_version;
  json& list = j["answers"] = json::array();
  for (const auto& a : r.answers) {
    json each = a.unknown.is_object() ? a.unknown : json::object();
    each["request"] = a.request, each["answer"] = a.answer;
    if (!a.date.empty()) each["date"] = a.date;
    if (!a.payload.empty()) each["payload"] = base64(a.payload);
    list.push_back(std::move(each));
  }
  return j;
}

json session_of(const Recording& r, json session) {
  session["type"] = session_type;
  session["version"] = session_version;
  // The fastest kernel that is right; without verdicts the fastest kernel; else the first of all.
  const RecordedAnswer* first = nullptr;
  int best = 0;
  double least_ms = 0;
  for (const auto& a : r.answers) {
    if (a.type() != "run" && a.type() != "profile") continue;
    if (!first) first = &a;
    const json& timing = part(a.answer, "timing");
    const json& times = a.type() == "run" ? timing : part(timing, "hot");
    int rank = 0;
    if (a.type() == "run")
      rank = text(part(a.answer, "verdict"), "status") == "right" ? 2 : 0;
    else
      rank = text(part(a.answer, "kernel"), "kind") == "kernel" ? 1 : 0;
    auto ms = times.find("median_ms");
    if (rank == 0 || ms == times.end() || !ms->is_number()) continue;
    if (rank > best || (rank == best && ms->get<double>() < least_ms)) first = &a, best = rank, least_ms = *ms;
  }
  if (first && !session.contains("problem")) {
    session["problem"] = problem_json(first->asked.problem);
    session["kernel"] = first->asked.kernel;
    session["accuracy"] = name_of(first->asked.accuracy);
    session["device"] = "auto";
    for (const char* same : {"seed", "input", "weight", "bias_values"})
      if (first->request.contains(same)) session[same] = first->request[same];
  }
  session["recording"] = recording_json(r);
  return session;
}

std::string recorded_source(const std::string& source, const std::string& recorded) {
  if (source == "measured" || source == "recorded") return "recorded: " + recorded;
  for (const char* own : {"measured", "counted", "sampled"})
    if (source.starts_with(own)) return "recorded: " + recorded + ", " + source;
  // "NVIDIA H200, measured": whose it is, and how it is known.
  constexpr std::string_view end = ", measured";
  if (source.ends_with(end)) return source.substr(0, source.size() - end.size()) + ", recorded: " + recorded;
  return source;
}

namespace {

// What a run's time is held against where the recording has a newer profile of the same question; "" where it has none,
// or the two agree within five per cent, which is not worth a line.
std::string newer_time(const Recording& r, const RecordedAnswer& run) {
  const RecordedAnswer* profile = r.find("profile", run.asked);
  if (run.type() != "run" || !profile || profile->date <= run.date) return "";
  const auto old = number(part(run.answer, "timing"), "median_ms"),
             now = number(part(part(profile->answer, "timing"), "hot"), "median_ms");
  if (!old || !now || std::abs(*old / *now - 1) < 0.05) return "";
  return fmt::format("this time is of {}; the kernel's profile of {} has {}", run.date, profile->date, time_text(*now));
}

}  // namespace

json shown_answer(const Recording& r, const RecordedAnswer& a) {
  json j = a.answer;
  const std::string recorded = r.source(a);
  mark(j, recorded);
  j.erase("result");
  if (a.type() == "profile") judge_recorded_profile(j);
  if (const std::string newer = newer_time(r, a); !newer.empty()) j["timing"]["newer"] = newer;
  j["recorded"] = {{"source", "recorded: " + recorded},
                   {"device", r.device_name()},
                   {"date", a.date.empty() ? text(r.about, "date") : a.date},
                   {"convscope", text(r.about, "convscope")},
                   {"command", text(r.about, "command")}};
  bool changed = is_of_another_text(a);
  if (a.type() == "bench")
    for (const auto& e : part(a.answer, "entries"))
      changed |= is_of_another_text(text(e, "name"), text(e, "text_hash"));
  if (changed) j["recorded"]["text_changed"] = true;
  return j;
}

std::string kernel_text_hash(const std::string& text) { return fmt::format("{:016x}", hash_of(text)); }

bool is_of_another_text(const RecordedAnswer& a) {
  return is_of_another_text(a.asked.kernel, text(part(a.answer, "kernel"), "text_hash"));
}

bool is_of_another_text(const std::string& kernel, const std::string& then) {
  if (then.empty() || !names_file(kernel)) return false;
  try {
    return kernel_text_hash(read_kernel_file(file_of_kernel(kernel))) != then;
  } catch (const InputError&) {  // it is somebody else's, or gone: what was recorded is all there is
    return false;
  }
}

Recording read_recording(const std::string& path) {
  json j = read_json_file("recording", path);
  if (!j.is_object() || j.value("type", json()) != session_type)
    throw InputError("recording", path, "is no convscope session");
  auto version = j.find("version");
  if (version == j.end()) throw InputError("recording", path, "is a session without a version");
  if (!version->is_number_integer()) throw InputError("recording", path, "has a field version of the wrong type");
  if (!is_version_up_to(*version, session_version))
    throw InputError(
        "recording", path,
        "is of version " + version->dump() + ": this program reads up to " + std::to_string(session_version));
  Recording r = recording_from(j, path);
  if (r.empty()) throw InputError("recording", path, "is a session that holds no recording");
  return r;
}

bool is_recording_file(const std::string& path) {
  try {
    const json j = read_json_file("recording", path);
    return j.is_object() && j.value("type", json()) == session_type && part(j, "recording").contains("answers");
  } catch (const InputError&) {  // packed and damaged, or far too large
    return false;
  }
}

}  // namespace convscope
