#include "app/model/lesson.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/engine/kernel_file.h"
#include "app/engine/packed.h"
#include "app/engine/recording.h"
#include "kernels/base/text.h"
#include "kernels/runtime/registry.h"

namespace convscope {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr uint64_t lesson_version = 1;

// Fields of an object, each taken once; what is left over is not known.
class Fields {
 public:
  Fields(const json& j, std::string where) : j_(j), where_(std::move(where)) {
    if (!j.is_object()) bad("must be an object of named fields");
  }
  [[noreturn]] void bad(const std::string& rule) const { throw InputError("lesson", where_, rule); }
  const json* take(const char* name) {
    known_.push_back(name);
    auto it = j_.find(name);
    return it == j_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string text(const char* name, const std::string& otherwise = "") {
    const json* v = take(name);
    if (!v) return otherwise;
    if (!v->is_string()) bad(fmt::format("has a field {} that is no text", name));
    return v->get<std::string>();
  }
  // Text, or lines of it that belong together: JSON has no line breaks.
  std::string paragraphs(const char* name) {
    const json* v = take(name);
    if (!v || v->is_string()) return v ? v->get<std::string>() : "";
    std::string all;
    if (!v->is_array()) bad(fmt::format("has a field {} that is neither text nor a list of paragraphs", name));
    for (const auto& p : *v) {
      if (!p.is_string()) bad(fmt::format("has a paragraph of {} that is no text", name));
      all += (all.empty() ? "" : "\n") + p.get<std::string>();
    }
    return all;
  }
  std::vector<std::string> list(const char* name) {
    std::vector<std::string> all;
    const json* v = take(name);
    if (!v) return all;
    if (!v->is_array()) bad(fmt::format("has a field {} that is no list", name));
    for (const auto& one : *v) {
      if (!one.is_string()) bad(fmt::format("has an entry of {} that is no text", name));
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  void nothing_else() const {
    for (const auto& [name, value] : j_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::string near = nearest_name(name, known_);
      bad(near.empty() ? fmt::format("has a field {}, which is not known: {}", name, fmt::join(known_, ", "))
                       : fmt::format("has a field {}, which is not known; did you mean {}?", name, near));
    }
  }

 private:
  const json& j_;
  std::string where_;
  std::vector<std::string> known_;
};

void set_problem(Document& d, const json& j, const std::string& where) {
  Fields f(j, where);
  ConvProblem p = d.problem;
  for (const auto& field : problem_fields())
    if (const json* v = f.take(field.name)) {
      if (!v->is_number_integer()) f.bad(fmt::format("has a {} that is no whole number", field.name));
      p.*field.value = v->get<int64_t>();
    }
  if (const json* v = f.take("bias")) {
    if (!v->is_boolean()) f.bad("has a bias that is neither true nor false");
    p.bias = v->get<bool>();
  }
  if (const std::string type = f.text("dtype"); !type.empty()) {
    const auto known = dtype_from(type);
    if (!known) f.bad("has a dtype that is none of " + std::string(dtype_names));
    p.dtype = *known;
  }
  f.nothing_else();
  d = apply(d, SetProblem{p});
}

// A file lies beside the lesson, unless it says where.
std::string kernel_of(const std::string& named, const fs::path& folder, const Fields& f) {
  if (!names_file(named) || fs::path(named).is_absolute()) return named;
  const std::string kernel = (folder / named).lexically_normal().string();
  std::error_code error;
  if (!fs::is_regular_file(file_of_kernel(kernel), error))
    f.bad(fmt::format("names a kernel's file that is not there: {}", file_of_kernel(kernel)));
  return kernel;
}

LessonStep step_from(const json& j, const LessonStep* before, const fs::path& folder, const std::string& where) {
  Fields f(j, where);
  LessonStep s;
  if (before) s.document = before->document, s.recording = before->recording;
  s.title = f.text("title"), s.text = f.paragraphs("text"), s.task = f.paragraphs("try");
  if (s.title.empty()) f.bad("needs a title");
  try {
    if (const std::string preset = f.text("preset"); !preset.empty())
      s.document = apply(s.document, LoadPreset{preset});
    if (const json* problem = f.take("problem")) set_problem(s.document, *problem, where);
    if (const std::string kernel = f.text("kernel"); !kernel.empty())
      s.document = apply(s.document, SetKernel{kernel_of(kernel, folder, f)});
    s.document = apply(s.document, SetCompareWith{f.text("compare_with", s.document.compare_with)});
    constexpr std::pair<const char*, Role> roles[] = {
        {"input", Role::input}, {"weight", Role::weight}, {"bias_values", Role::bias}};
    for (const auto& [name, role] : roles)
      if (const std::string kind = f.text(name); !kind.empty()) {
        const TensorSource source = parse_source(name, kind);
        if (source.kind == InputKind::file) f.bad(fmt::format("has an {} from a file: a lesson is one file", name));
        s.document = apply(s.document, SetSource{role, source});
      }
    if (const std::string accuracy = f.text("accuracy"); !accuracy.empty()) {
      const auto a = accuracy_from(accuracy);
      if (!a) f.bad("has an accuracy that is none of strict, 3xtf32, tf32");
      s.document = apply(s.document, SetAccuracy{*a});
    }
  } catch (const InputError& e) {
    if (e.field() == "lesson") throw;
    f.bad("is refused: " + std::string(e.what()));
  }
  if (const json* v = f.take("select")) {
    const bool three = v->is_array() && v->size() == 3 &&
                       std::all_of(v->begin(), v->end(), [](const json& e) { return e.is_number_integer(); });
    const ConvProblem& p = s.document.problem;
    if (!three) f.bad("has a field select that is not [n, co, j]");
    const auto n = (*v)[0].get<int64_t>(), co = (*v)[1].get<int64_t>(), at = (*v)[2].get<int64_t>();
    if (n < 0 || n >= p.batch || co < 0 || co >= p.out_channels || at < 0 || at >= p.out_length())
      f.bad(fmt::format("selects an element outside of its output [{}, {}, {}]", p.batch, p.out_channels,
                        p.out_length()));
    s.selected = ElementIndex{n * p.out_channels + co, at};
  }
  if (const json* v = f.take("view")) {
    const bool four = v->is_array() && v->size() == 4 &&
                      std::all_of(v->begin(), v->end(), [](const json& e) { return e.is_number_integer(); });
    if (!four) f.bad("has a field view that is not [first row, row behind the last, first column, column behind]");
    const ConvProblem& p = s.document.problem;
    const auto row0 = (*v)[0].get<int64_t>(), row1 = (*v)[1].get<int64_t>(), column0 = (*v)[2].get<int64_t>(),
               column1 = (*v)[3].get<int64_t>();
    if (row0 < 0 || row1 <= row0 || row1 > p.batch * p.out_channels || column0 < 0 || column1 <= column0 ||
        column1 > p.out_length())
      f.bad(fmt::format("has a view outside of its output of {} rows and {} columns", p.batch * p.out_channels,
                        p.out_length()));
    auto real = [](int64_t i) { return static_cast<double>(i); };
    s.view.emplace();
    s.view->row0 = real(row0), s.view->row1 = real(row1), s.view->column0 = real(column0),
    s.view->column1 = real(column1);
  }
  s.line = f.text("line");
  if (const json* v = f.take("classes")) s.classes = v->is_boolean() && v->get<bool>();
  if (const json* v = f.take("from_input")) s.from_input = v->is_boolean() && v->get<bool>();
  s.panel = f.text("panel"), s.beside = f.text("beside"), s.recording = f.text("recording", s.recording);
  if (s.recording == "none") s.recording.clear();
  s.sweep = f.text("sweep"), s.actions = f.list("actions");
  if (const json* v = f.take("expect")) {
    Fields e(*v, where);
    s.expect_status = e.text("status"), s.expect_says = e.text("says");
    e.nothing_else();
  }
  f.nothing_else();
  return s;
}

}  // namespace

Lesson load_lesson(const std::string& path) {
  const json j = read_json_file("lesson", path);
  Fields f(j, path);
  if (f.text("type") != "convscope-lesson") f.bad("is no lesson");
  const json* version = f.take("version");
  if (!version || !version->is_number_unsigned() || version->get<uint64_t>() < 1 ||
      version->get<uint64_t>() > lesson_version)
    f.bad(fmt::format("is of another version: this program reads version {}", lesson_version));
  Lesson lesson;
  lesson.path = path, lesson.title = f.text("title"), lesson.about = f.text("about");
  const json* steps = f.take("steps");
  if (!steps || !steps->is_array() || steps->empty()) f.bad("has no steps");
  for (const auto& one : *steps)
    lesson.steps.push_back(step_from(one, lesson.steps.empty() ? nullptr : &lesson.steps.back(),
                                     fs::absolute(path).parent_path(),
                                     fmt::format("{}, step {}", file_name(path), lesson.steps.size() + 1)));
  f.nothing_else();
  if (lesson.title.empty()) f.bad("needs a title");
  return lesson;
}

bool comes_with_the_program(const std::string& kernel_file) {
  std::error_code error;
  const std::string folder = shipped_folder("lessons");
  return !folder.empty() && fs::equivalent(fs::path(kernel_file).parent_path(), folder, error);
}

std::vector<ShippedLesson> shipped_lessons() {
  std::vector<ShippedLesson> all;
  std::error_code error;
  const std::string folder = shipped_folder("lessons");
  if (folder.empty()) return all;
  for (fs::directory_iterator e(folder, error), end; !error && e != end; e.increment(error)) {
    const fs::path path = e->path();
    if (path.extension() != ".lesson") continue;
    try {
      const Lesson l = load_lesson(path.string());
      all.push_back({path.stem().string(), l.title, l.about, path.string()});
    } catch (const std::exception&) {
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace convscope
