#include "app/model/session_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/engine/codec.h"
#include "app/model/settings.h"
#include "kernels/problem/npy.h"

namespace convscope {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr int version = 1;
constexpr const char* known[] = {"type", "version", "problem", "kernel", "compare_with", "seed", "input", "weight", "bias_values", "accuracy", "tolerance", "device", "view"};

struct RoleName {
  const char* field;
  const char* array;
  TensorSource InputSpec::*source;
};
constexpr RoleName roles[] = {{"input", "x", &InputSpec::x}, {"weight", "w", &InputSpec::w}, {"bias_values", "b", &InputSpec::b}};

template <class T>
T take(const json& j, const char* field, const T& otherwise, const std::string& path) {
  auto it = j.find(field);
  if (it == j.end() || it->is_null()) return otherwise;
  try {
    return it->get<T>();
  } catch (const json::exception&) {
    throw InputError("session", path, std::string("has a field ") + field + " of the wrong type");
  }
}

}  // namespace

SessionFile load_session(const std::string& path) {
  std::ifstream in(path);
  if (!in || fs::is_directory(path)) throw InputError("session", path, "cannot be opened");
  std::stringstream text;
  text << in.rdbuf();
  json j = json::parse(text.str(), nullptr, false);
  if (!j.is_object() || j.value("type", json()) != "convscope-session") throw InputError("session", path, "is no convscope session");
  int v = take(j, "version", 0, path);
  if (v < 1 || v > version) throw InputError("session", path, "is of version " + std::to_string(v) + ": this program reads up to " + std::to_string(version));

  SessionFile s;
  Document& d = s.document;
  d.problem = problem_from(j.value("problem", json::object()));
  d.kernel = take(j, "kernel", d.kernel, path);
  d.compare_with = take(j, "compare_with", d.compare_with, path);
  d.device = take(j, "device", d.device, path);
  d.inputs.seed = take(j, "seed", d.inputs.seed, path);
  std::string accuracy = take(j, "accuracy", std::string("strict"), path);
  auto a = accuracy_from(accuracy);
  if (!a) throw InputError("accuracy", accuracy, "must be strict, 3xtf32 or tf32");
  d.accuracy = *a;
  if (j.contains("tolerance") && j["tolerance"].is_array() && j["tolerance"].size() == 2 && j["tolerance"][0].is_number() && j["tolerance"][1].is_number())
    d.atol = j["tolerance"][0], d.rtol = j["tolerance"][1];
  for (const auto& r : roles) {
    std::string name = take(j, r.field, std::string(), path);
    if (name.empty()) continue;
    TensorSource& source = d.inputs.*r.source;
    source = parse_source(r.field, name);
    if (source.kind != InputKind::file) continue;
    fs::path file = name;
    if (file.is_relative()) file = fs::path(path).parent_path() / file;
    source.file = file.lexically_normal().string();
    source.values = convert(read_array_file(source.file, r.array, r.field), d.problem.dtype);
  }
  const json view = j.value("view", json::object());
  if (view.is_object()) {
    auto number = [&](const char* field, double& to) {
      if (view.contains(field) && view[field].is_number()) to = view[field];
    };
    number("row0", s.view.row0), number("row1", s.view.row1), number("column0", s.view.column0), number("column1", s.view.column1);
    if (view.contains("selected") && view["selected"].is_array() && view["selected"].size() == 2 && view["selected"][0].is_number_integer() && view["selected"][1].is_number_integer())
      s.view.selected = ElementIndex{view["selected"][0], view["selected"][1]};
    s.view.show_classes = take(view, "show_classes", false, path);
    s.view.difference_is_ratio = take(view, "difference_is_ratio", true, path);
  }
  d = apply(d, ReplaceDocument{d, path});  // the rules hold for files too
  s.unknown = std::move(j);
  for (const char* field : known) s.unknown.erase(field);
  return s;
}

void save_session(const std::string& path, const SessionFile& s) {
  const Document& d = s.document;
  json j = s.unknown.is_object() ? s.unknown : json::object();
  j["type"] = "convscope-session";
  j["version"] = version;
  j["problem"] = problem_json(d.problem);
  j["kernel"] = d.kernel;
  j["compare_with"] = d.compare_with;
  j["device"] = d.device;
  j["seed"] = d.inputs.seed;
  j["accuracy"] = name_of(d.accuracy);
  j["tolerance"] = {d.atol, d.rtol};
  for (const auto& r : roles) {
    const TensorSource& source = d.inputs.*r.source;
    if (source.kind == InputKind::file) {
      std::error_code error;
      fs::path folder = fs::absolute(fs::path(path).parent_path(), error), file = fs::absolute(source.file, error);
      fs::path relative = file.lexically_relative(folder);
      j[r.field] = relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();
    } else {
      for (const auto& k : input_kinds)
        if (k.kind == source.kind) j[r.field] = k.name;
    }
  }
  j["view"] = {{"row0", s.view.row0}, {"row1", s.view.row1}, {"column0", s.view.column0}, {"column1", s.view.column1}, {"show_classes", s.view.show_classes},
               {"difference_is_ratio", s.view.difference_is_ratio}};
  if (s.view.selected) j["view"]["selected"] = {s.view.selected->row, s.view.selected->column};
  write_file_safely(path, j.dump(2) + "\n");
}

}  // namespace convscope
