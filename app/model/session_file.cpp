#include "app/model/session_file.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>

#include "app/engine/codec.h"
#include "app/engine/kernel_file.h"
#include "app/engine/packed.h"
#include "kernels/base/safe_file.h"
#include "kernels/problem/npy.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* known[] = {"type",   "version",     "problem",  "kernel",    "compare_with", "seed", "input",
                                 "weight", "bias_values", "accuracy", "tolerance", "device",       "view", "recording"};

// Of a view, by ColourScale; without one the range is automatic.
constexpr const char* colour_fields[colour_scales] = {"value_range", "error_range", "ratio_range"};

struct RoleName {
  const char* field;
  const char* array;
  TensorSource InputSpec::*source;
};
constexpr RoleName roles[] = {
    {"input", "x", &InputSpec::x}, {"weight", "w", &InputSpec::w}, {"bias_values", "b", &InputSpec::b}};

template <class T>
T take(const json& j, const char* field, const T& otherwise, const std::string& path) {
  auto it = j.find(field);
  if (it == j.end() || it->is_null()) return otherwise;
  bool fits = std::is_same_v<T, bool>          ? it->is_boolean()
              : std::is_same_v<T, std::string> ? it->is_string()
              : std::is_floating_point_v<T>    ? it->is_number()
              : std::is_unsigned_v<T>          ? it->is_number_unsigned()
              : std::is_same_v<T, ElementIndex>
                  ? it->is_array() && it->size() == 2 && (*it)[0].is_number_integer() && (*it)[1].is_number_integer()
                  : it->is_array() && it->size() == 2 && (*it)[0].is_number() && (*it)[1].is_number();
  if (!fits) throw InputError("session", path, std::string("has a field ") + field + " of the wrong type");
  if constexpr (std::is_same_v<T, ElementIndex>)
    return {(*it)[0].get<int64_t>(), (*it)[1].get<int64_t>()};
  else
    return it->template get<T>();
}

// A file as a session names it: from the session's folder where it lies below it, so that the two can be moved
// together.
std::string from_session(const std::string& file, const std::string& session) {
  std::error_code error;
  const fs::path folder = fs::absolute(session, error).parent_path(), whole = fs::absolute(file, error);
  const fs::path relative = whole.lexically_relative(folder);
  return relative.empty() || *relative.begin() == ".." ? whole.string() : relative.string();
}

std::string beside_session(const fs::path& file, const std::string& session) {
  return (file.is_relative() ? fs::path(session).parent_path() / file : file).lexically_normal().string();
}

// A kernel may be a file as well, or one of several in a file. One that a recording has answers of stays as it was
// named there: its questions are found by that name.
bool names_own_file(const std::string& kernel, const Recording* recording) {
  if (!names_file(kernel)) return false;
  return !recording || std::none_of(recording->answers.begin(), recording->answers.end(),
                                    [&](const RecordedAnswer& a) { return a.asked.kernel == kernel; });
}

std::string kernel_from_session(const std::string& kernel, const std::string& session, const Recording* recording) {
  const std::string file = file_of_kernel(kernel);
  std::error_code error;
  // One that is not there stays as it is: from where its name counts is not known.
  if (!names_own_file(kernel, recording) || (fs::path(file).is_relative() && !fs::exists(file, error))) return kernel;
  return from_session(file, session) + kernel.substr(file.size());
}

std::string kernel_beside_session(const std::string& kernel, const std::string& session, const Recording* recording) {
  if (!names_own_file(kernel, recording)) return kernel;
  const std::string file = file_of_kernel(kernel), beside = beside_session(file, session);
  std::error_code error;
  // Sessions of before have the name as it was typed, which counts from the working folder.
  return fs::exists(beside, error) ? beside + kernel.substr(file.size()) : kernel;
}

}  // namespace

SessionFile load_session(const std::string& path) {
  json j = read_json_file("session", path);
  if (!j.is_object() || j.value("type", json()) != session_type)
    throw InputError("session", path, "is no convscope session");
  auto v = take(j, "version", uint64_t{0}, path);
  if (v < 1 || v > session_version)
    throw InputError(
        "session", path,
        "is of version " + std::to_string(v) + ": this program reads up to " + std::to_string(session_version));

  SessionFile s;
  if (Recording r = recording_from(j, path); !r.empty()) s.recording = std::make_shared<Recording>(std::move(r));
  Document& d = s.document;
  d.problem = problem_from(j.value("problem", json::object()));
  require_legal(d.problem);
  d.kernel = kernel_beside_session(take(j, "kernel", d.kernel, path), path, s.recording.get());
  d.compare_with = kernel_beside_session(take(j, "compare_with", d.compare_with, path), path, s.recording.get());
  d.device = take(j, "device", d.device, path);
  d.inputs.seed = take(j, "seed", d.inputs.seed, path);
  std::string accuracy = take(j, "accuracy", std::string("strict"), path);
  auto a = accuracy_from(accuracy);
  if (!a) throw InputError("accuracy", accuracy, "must be strict, 3xtf32 or tf32");
  d.accuracy = *a;
  std::tie(d.atol, d.rtol) = take(j, "tolerance", std::pair(d.atol, d.rtol), path);
  for (const auto& r : roles) {
    std::string name = take(j, r.field, std::string(), path);
    if (name.empty()) continue;
    TensorSource& source = d.inputs.*r.source;
    source = parse_source(r.field, name);
    if (source.kind != InputKind::file) continue;
    source.file = beside_session(name, path);
    source.values = convert(read_array_file(source.file, r.array, r.field), d.problem.dtype);
  }
  d = apply(d, ReplaceDocument{d, path});  // the rules hold for files too
  if (auto it = j.find("view"); it != j.end() && !it->is_null()) {
    if (!it->is_object()) throw InputError("session", path, "has a field view of the wrong type");
    View& v = s.view;
    v.row0 = take(*it, "row0", v.row0, path), v.row1 = take(*it, "row1", v.row1, path);
    v.column0 = take(*it, "column0", v.column0, path), v.column1 = take(*it, "column1", v.column1, path);
    v.show_classes = take(*it, "show_classes", v.show_classes, path);
    v.difference_is_ratio = take(*it, "difference_is_ratio", v.difference_is_ratio, path);
    v.from_input = take(*it, "from_input", v.from_input, path);
    for (size_t scale = 0; scale < colour_scales; scale++) {
      const char* field = colour_fields[scale];
      if (auto ends = it->find(field); ends == it->end() || ends->is_null()) continue;
      const auto [low, high] = take(*it, field, std::pair(0.0, 0.0), path);
      const std::string rule = broken_rule(static_cast<ColourScale>(scale), {low, high});
      if (!rule.empty()) throw InputError(field, it->find(field)->dump(), rule);
      v.colours[scale] = ColourRange{low, high};
    }
    ElementIndex at = take(*it, "selected", ElementIndex{-1, -1}, path);
    const auto& p = d.problem;
    if (at.row >= 0 && at.row < p.batch * p.out_channels && at.column >= 0 && at.column < p.out_length())
      v.selected = at;
  }
  s.unknown = std::move(j);
  for (const char* field : known) s.unknown.erase(field);
  return s;
}

void save_session(const std::string& path, const SessionFile& s) {
  const Document& d = s.document;
  json j = s.unknown.is_object() ? s.unknown : json::object();
  j["type"] = session_type;
  j["version"] = session_version;
  j["problem"] = problem_json(d.problem);
  j["kernel"] = kernel_from_session(d.kernel, path, s.recording.get());
  j["compare_with"] = kernel_from_session(d.compare_with, path, s.recording.get());
  j["device"] = d.device;
  j["seed"] = d.inputs.seed;
  j["accuracy"] = name_of(d.accuracy);
  j["tolerance"] = {d.atol, d.rtol};
  for (const auto& r : roles) {
    const TensorSource& source = d.inputs.*r.source;
    if (source.kind == InputKind::file) {
      j[r.field] = from_session(source.file, path);
    } else {
      for (const auto& k : input_kinds)
        if (k.kind == source.kind) j[r.field] = k.name;
    }
  }
  j["view"] = {{"row0", s.view.row0},
               {"row1", s.view.row1},
               {"column0", s.view.column0},
               {"column1", s.view.column1},
               {"show_classes", s.view.show_classes},
               {"difference_is_ratio", s.view.difference_is_ratio},
               {"from_input", s.view.from_input}};
  for (size_t scale = 0; scale < colour_scales; scale++)
    if (const auto& own = s.view.colours[scale]) j["view"][colour_fields[scale]] = {own->low, own->high};
  if (s.view.selected) j["view"]["selected"] = {s.view.selected->row, s.view.selected->column};
  std::string text;
  try {
    // A recording is large, and packs to a tenth of its size.
    text = s.recording ? packed(session_of(*s.recording, std::move(j)).dump()) : j.dump(2) + "\n";
  } catch (const json::exception&) {  // of bytes that are no UTF-8
    throw std::runtime_error(path + " cannot be written: the path of a file is no text");
  }
  write_file_safely(path, text);
}

}  // namespace convscope
