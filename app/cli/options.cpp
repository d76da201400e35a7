#include "app/cli/options.h"

#include <charconv>
#include <cmath>
#include <filesystem>

#include "kernels/base/text.h"
#include "kernels/problem/npy.h"
#include "kernels/problem/presets.h"

namespace convscope {

std::string kebab(std::string s) {
  for (char& c : s)
    if (c == '_') c = '-';
  return s;
}

void require_one_of(const std::string& field, const std::string& word, const std::vector<std::string>& words) {
  std::string list;
  for (size_t i = 0; i < words.size(); i++) {
    if (word == words[i]) return;
    list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  throw InputError(field, word, "must be " + list);
}

int64_t whole_number(const std::string& field, const std::string& text) {
  int64_t v = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, v);
  if (error == std::errc::result_out_of_range) throw InputError(field, text, "does not fit into 64 bits");
  if (error != std::errc{} || stop != end || text.empty()) throw InputError(field, text, "must be a whole number");
  return v;
}

uint64_t seed_number(const std::string& text) {
  uint64_t v = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, v);
  if (error == std::errc{} && stop == end && !text.empty()) return v;
  const bool whole = !text.empty() && text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos;
  if (!whole || text == "-") throw InputError("seed", text, "must be a whole number");
  throw InputError("seed", text, text[0] == '-' ? "must be at least 0" : "must be at most 18446744073709551615");
}

double real_number(const std::string& field, const std::string& text) {
  double v = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc{} || stop != end || text.empty() || !std::isfinite(v))
    throw InputError(field, text, "must be a number");
  return v;
}

void CommonOptions::add_to(CLI::App& app, bool runs_files) {
  app.add_option("--device", device, "auto, emulator, cuda or cuda:N")->capture_default_str();
  app.add_flag("--json", json, "one JSON document on stdout, nothing else there");
  if (runs_files) app.add_flag("--trust", trust, "run what is in a .cu or .py file that is named: it has your rights");
  app.add_option("--engine", engine, "command that runs the engine, e.g. \"ssh box convscope engine\"");
  app.add_option("--timeout", timeout, "seconds, more than 0, after which the kernel counts as hung");
}

void CommonOptions::add_watch_to(CLI::App& app) {
  app.add_flag("--watch", watch, "again whenever the .cu or .py file that is named changes, until Ctrl-C");
}

void CommonOptions::add_recording_to(CLI::App& app) {
  app.add_option("--recording", recording,
                 "show what was recorded instead of running: a file, or a name from `convscope list recordings`");
}

double CommonOptions::timeout_s() const {
  if (timeout.empty()) return 0;
  double s = real_number("timeout", timeout);
  if (s <= 0) throw InputError("timeout", timeout, "must be greater than 0 seconds");
  return s;
}

void ProblemOptions::add_to(CLI::App& app, const Uses& uses) {
  app.add_option("--preset", preset, "start from a named problem (see `convscope list presets`)");
  for (const auto& f : problem_fields()) {
    auto* o = app.add_option("--" + kebab(f.name), parameters[f.name], f.meaning);
    o->group("Problem");
    given_[f.name] = o;
  }
  given_["bias"] = app.add_flag("--bias", bias, "add a bias")->group("Problem");
  app.add_flag("--no-bias", no_bias, "none, as without --bias; of `check`: do not draw one")->group("Problem");
  app.add_option("--dtype", dtype, "f32, f64, f16 or bf16 [f32]")->group("Problem");
  std::string kinds;
  for (const auto& k : input_kinds) kinds += std::string(kinds.empty() ? "" : ", ") + k.name;
  if (uses.values != Uses::Values::none) {
    const char* group = uses.values == Uses::Values::all ? "Values" : "";  // without a group: not in the help
    app.add_option("--input", input, "input values: " + kinds + ", or a .npy or .npz file [random]")->group(group);
    app.add_option("--weight", weight, "weight values, likewise [default]")->group(group);
    app.add_option("--bias-values", bias_values, "bias values, likewise [default]")->group(group);
  }
  if (uses.seed) app.add_option("--seed", seed, "seed of all drawn values, as torch.manual_seed [42]")->group("Values");
  app.add_option("--accuracy", accuracy, "what the kernel may do: strict, 3xtf32 or tf32 [strict]");
  if (uses.tolerance) app.add_option("--tolerance", tolerance, "ATOL[,RTOL]: a gate shown beside the verdict");
  if (uses.samples) app.add_option("--samples", samples, "timing samples [as many as it takes]");
}

std::set<std::string> ProblemOptions::given() const {
  std::set<std::string> names;
  for (const auto& [field, option] : given_)
    if (option->count() > 0) names.insert(field);
  if (no_bias) names.insert("bias");
  return names;
}

bool ProblemOptions::agrees_with(const ConvProblem& asked, const ConvProblem& p) const {
  for (const auto& f : problem_fields())
    if (given_.at(f.name)->count() > 0 && p.*f.value != asked.*f.value) return false;
  return ((!bias && !no_bias) || p.bias == asked.bias) && (dtype.empty() || p.dtype == asked.dtype);
}

RunRequest ProblemOptions::part_of_request(const std::string& kernel, const std::string& device) const {
  RunRequest r;
  r.kernel = kernel;
  r.device = device;
  if (!preset.empty()) r.problem = find_preset(preset).problem;
  auto was_given = [&](const char* field) { return given_.at(field)->count() > 0; };
  for (const auto& f : problem_fields())
    if (was_given(f.name)) r.problem.*f.value = whole_number(f.name, parameters.at(f.name));
  if (bias && no_bias) throw InputError("bias", "", "cannot be given together with --no-bias");
  if (bias || no_bias) r.problem.bias = bias;
  if (!bias_values.empty()) {
    if (no_bias) throw InputError("bias-values", bias_values, "needs a bias: not with --no-bias");
    r.problem.bias = true;
  }
  if (!dtype.empty()) {
    auto d = dtype_from(dtype);
    if (!d) throw InputError("dtype", dtype, "must be " + std::string(dtype_names));
    r.problem.dtype = *d;
  }
  if (!seed.empty()) r.inputs.seed = seed_number(seed);
  if (!accuracy.empty()) {
    auto a = accuracy_from(accuracy);
    if (!a) throw InputError("accuracy", accuracy, "must be strict, 3xtf32 or tf32");
    r.accuracy = *a;
  }
  if (auto e = check_accuracy(r.problem.dtype, r.accuracy)) throw *e;
  if (!tolerance.empty()) {
    auto comma = tolerance.find(',');
    if (comma != tolerance.rfind(',')) throw InputError("tolerance", tolerance, "must be ATOL or ATOL,RTOL");
    double atol = real_number("tolerance", tolerance.substr(0, comma));
    double rtol = comma == std::string::npos ? 0 : real_number("tolerance", tolerance.substr(comma + 1));
    if (atol < 0 || rtol < 0) throw InputError("tolerance", tolerance, "must not be negative");
    r.tolerance = Gate{atol, rtol, 0};
  }
  if (!samples.empty()) {
    int64_t n = whole_number("samples", samples);
    if (n < 1 || n > 100000) throw InputError("samples", samples, "must be between 1 and 100000");
    r.samples = static_cast<int>(n);
  }
  return r;
}

RunRequest ProblemOptions::request(const std::string& kernel, const std::string& device) const {
  RunRequest r = part_of_request(kernel, device);
  auto was_given = [&](const char* field) { return given_.at(field)->count() > 0; };
  // Files: their shape sets what it can, and must agree with what was given.
  struct FileRole {
    const char* field;
    const std::string& text;
    TensorSource& source;
    const char* array;
    size_t rank;
  };
  const FileRole roles[] = {{"input", input, r.inputs.x, "x", 3},
                            {"weight", weight, r.inputs.w, "w", 3},
                            {"bias-values", bias_values, r.inputs.b, "b", 1}};
  for (const auto& role : roles) {
    if (role.text.empty()) continue;
    role.source = parse_source(role.field, role.text);
    if (role.source.kind != InputKind::file) continue;
    HostTensor t = read_array_file(role.text, role.array, role.field);
    if (t.shape.size() != role.rank)
      throw InputError(
          role.field, role.text,
          "has " + std::to_string(t.shape.size()) + " dimensions: " + std::to_string(role.rank) + " are needed");
    if (is_half(r.problem.dtype) && t.dtype != r.problem.dtype)
      std::fprintf(stderr, "convscope: %s %s holds %s, rounded to %s\n", role.field, role.text.c_str(),
                   name_of(t.dtype).data(), name_of(r.problem.dtype).data());
    role.source.values = convert(t, r.problem.dtype);
  }
  auto set = [&](const char* field, int64_t ConvProblem::*member, int64_t v, const std::string& file) {
    if ((was_given(field) || !preset.empty()) && r.problem.*member != v)
      throw InputError(field, std::to_string(r.problem.*member),
                       "does not agree with " + std::to_string(v) + " in " + file);
    r.problem.*member = v;
  };
  if (r.inputs.x.values) {
    const auto& s = r.inputs.x.values->shape;
    set("batch", &ConvProblem::batch, s[0], input), set("in_channels", &ConvProblem::in_channels, s[1], input),
        set("length", &ConvProblem::length, s[2], input);
  }
  if (r.inputs.w.values) {
    const auto& s = r.inputs.w.values->shape;
    if (r.inputs.x.values && r.problem.in_channels != s[0])
      throw InputError(
          "weight", weight,
          "has " + std::to_string(s[0]) + " input channels, the input has " + std::to_string(r.problem.in_channels));
    set("in_channels", &ConvProblem::in_channels, s[0], weight);
    set("out_channels", &ConvProblem::out_channels, s[1] * r.problem.groups, weight);
    set("kernel_size", &ConvProblem::kernel_size, s[2], weight);
  }
  require_legal(r.problem);
  return r;
}

void require_no_folder(const std::string& field, const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw InputError(field, file, "is a folder: a file is needed");
}

void refuse_values_of_flags(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* verb = &app;
  for (const auto& word : words) {
    if (word == "--") return;  // names from here on
    if (verb == &app && !word.starts_with("-"))
      for (const auto* s : app.get_subcommands([](const CLI::App*) { return true; }))
        if (s->get_name() == word) verb = s;
    const size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    for (const auto* o : verb->get_options()) {
      if (!o->check_name(name)) continue;
      if (o->get_items_expected_max() == 0)
        throw InputError(name.substr(2), word.substr(equals + 1),
                         "is one value too many: --" + name.substr(2) + " stands alone");
      // With nothing behind the sign the library takes the next word.
      if (equals + 1 == word.size()) throw InputError(name.substr(2), "", "must not be empty");
    }
  }
}

void refuse_empty_values(const CLI::App& app) {
  for (const auto* o : app.get_options()) {
    if (o->get_lnames().empty() || o->get_items_expected_max() == 0) continue;
    const std::string& name = o->get_lnames().front();
    if (o->get_group() == "Problem" && name != "dtype") continue;  // numbers, which say so themselves
    for (const auto& value : o->results())
      if (value.empty()) throw InputError(name, "", "must not be empty");
  }
}

void refuse_leftovers(const CLI::App& app) {
  auto left = app.remaining();
  if (left.empty()) return;
  const std::string& word = left[0];
  if (!word.starts_with("-")) throw InputError("argument", word, "is one too many");
  const std::string name = word.substr(0, word.find('=')), see = "see `convscope help " + app.get_name() + "`";
  // What another verb takes is spelled right.
  if (name.starts_with("--") && app.get_parent())
    for (const auto* other : app.get_parent()->get_subcommands([](const CLI::App*) { return true; }))
      for (const auto* o : other->get_options())
        if (o->check_name(name)) throw InputError("option", name, "is none of `" + app.get_name() + "`: " + see);
  std::vector<std::string> known;
  for (const auto* o : app.get_options())
    for (const auto& own : o->get_lnames()) known.push_back("--" + own);
  const std::string near = nearest_name(name, known);
  throw InputError("option", name, near.empty() ? "is not known: " + see : "is not known; did you mean " + near + "?");
}

}  // namespace convscope
