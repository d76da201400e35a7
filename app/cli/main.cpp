// convscope: the command line. Each verb is a function in verbs.h.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/cli/window.h"
#include "app/engine/process.h"
#include "app/engine/server.h"
#include "kernels/base/text.h"

namespace convscope {
namespace {

using nlohmann::json;

// Says what was refused: one line on stderr, and with --json a document on stdout.
int refuse(const std::exception& e, bool as_json) {
  json error;
  std::string text = e.what();
  int code = 1;
  if (auto* engine = dynamic_cast<const EngineError*>(&e)) {
    error = engine->error();
    code = engine->exit_code();
  } else {
    error = error_json(e);
    code = error.value("exit_code", 1);
  }
  for (char& c : text)
    if (c == '\n') c = ' ';  // one line
  // Of one shape, whatever it was.
  json out = {{"code", error.value("code", "failed")},
              {"field", nullptr},
              {"value", nullptr},
              {"rule", text},
              {"message", text}};
  for (const char* part : {"field", "value", "rule"})
    if (error.contains(part)) out[part] = error[part];
  if (as_json) print_json({{"error", out}});
  std::fprintf(stderr, "convscope: %s\n", text.c_str());
  return code;
}

// CLI11 says "--seed: At Most 1 required but received 2", "--seed: 1 required TEXT missing".
InputError refusal(const CLI::ParseError& e) {
  std::string text = e.what(), name = text.substr(0, text.find(':'));
  if (!name.starts_with("-") || name.size() == text.size()) return {"command line", "", text};
  name.erase(0, name.find_first_not_of('-'));
  if (text.find("required but received") != std::string::npos) return {name, "", "is given more than once"};
  if (text.find("missing") != std::string::npos) return {name, "", "needs a value"};
  return {name, "", text.substr(text.find(':') + 2)};
}

InputError unknown_verb(const CLI::App& app, const std::string& verb) {
  std::vector<std::string> verbs;
  for (auto* s : app.get_subcommands([](const CLI::App*) { return true; })) verbs.push_back(s->get_name());
  std::string near = nearest_name(verb, verbs);
  return {"verb", verb,
          near.empty() ? "is not known: see `convscope help`" : "is not known; did you mean " + near + "?"};
}

int run(int argc, char** argv) {
  CLI::App app{
      "A workbench for ConvTranspose1d CUDA kernels: runs a kernel beside a reference and says where and why it is "
      "wrong.",
      "convscope"};
  app.set_help_flag("--help,-h", "what the verbs and options mean");
  bool version = false;
  app.add_flag("--version", version, "print the version");
  app.require_subcommand(0, 1);
  app.allow_extras();

  CommonOptions common;
  ProblemOptions problem;
  RunOptionsCli run_options;
  std::string kernel, at, out = "convscope-demo", what, verb;
  auto add = [&](const char* name, const char* about) {
    CLI::App* s = app.add_subcommand(name, about);
    s->allow_extras();
    s->set_help_flag("--help,-h", "this text");
    return s;
  };
  auto* demo = add("demo", "every kernel on problems that suit the device: a table, and a report with pictures");
  demo->add_option("--out", out, "folder for report.html and the pictures")->capture_default_str();
  common.add_to(*demo, false);
  auto* run_verb = add("run", "run a kernel once beside the reference: verdict, errors, time");
  run_verb->add_option("KERNEL", run_options.kernel, "a name from `convscope list kernels`, or a .cu or .py file");
  run_verb->add_option("--save", run_options.save, "folder for x.npy, w.npy, b.npy, y.npy, oracle.npy");
  common.add_to(*run_verb);
  common.add_recording_to(*run_verb);
  auto* explain_verb = add("explain", "the taps of one output element, and what the kernel does instead");
  explain_verb->add_option("KERNEL", kernel, "a name from `convscope list kernels`, or a .cu or .py file");
  explain_verb->add_option("--at", at, "the element: n,co,j");
  common.add_to(*explain_verb);
  problem.add_to(*run_verb);
  ProblemOptions explain_problem;
  explain_problem.add_to(*explain_verb, {.tolerance = false, .samples = false});
  auto* xray_verb =
      add("xray", "which term of a kernel's index is wrong: its products on small problems, and a formula");
  xray_verb->add_option("KERNEL", kernel, "a name from `convscope list kernels`, or a .cu or .py file");
  common.add_to(*xray_verb);
  ProblemOptions xray_problem;
  // It launches with inputs of its own.
  xray_problem.add_to(*xray_verb, {.values = Uses::Values::accepted, .tolerance = false, .samples = false});
  CheckOptionsCli check_options;
  ProblemOptions check_problem;
  auto* check_verb = add("check",
                         "a kernel on many problems that are drawn; the first that fails is made as small as it goes. "
                         "Parameters that are given stay as they are; of a preset, all but channels, batch and length");
  check_verb->add_option("KERNEL", check_options.kernel, "a name from `convscope list kernels`, or a .cu or .py file");
  check_verb->add_option("--cases", check_options.cases, "problems that are judged [100]");
  common.add_to(*check_verb);
  check_problem.add_to(*check_verb, {.values = Uses::Values::none, .tolerance = false, .samples = false});
  ProfileOptionsCli profile_options;
  ProblemOptions profile_problem, bench_problem;
  auto* profile_verb =
      add("profile", "where a kernel's time goes: times, clocks, counters, occupancy, roofline, and what to try");
  profile_verb->add_option("KERNEL", profile_options.kernel, "a kernel or a reference (see `convscope list`)");
  profile_verb->add_option("--set", profile_options.set, "counters: live (one pass), memory (five) or full (all sets)")
      ->capture_default_str();
  profile_verb->add_option("--format", profile_options.format, "table, json, csv or chrome-trace [table]");
  profile_verb->add_option("--out", profile_options.out, "a file for it, instead of the terminal");
  common.add_to(*profile_verb);
  common.add_recording_to(*profile_verb);
  profile_problem.add_to(*profile_verb, {.tolerance = false});
  BenchOptionsCli bench_options;
  auto* bench_verb =
      add("bench", "kernels against each other, samples taken in turn: SAME, FASTER, SLOWER or AMBIGUOUS");
  bench_verb->add_option("KERNEL", bench_options.kernels,
                         "kernels or references [every kernel that takes the problem]");
  bench_verb->add_option("--against", bench_options.against,
                         "what they are compared with [the strictest reference there is, else the first kernel]");
  bench_verb->add_flag("--with-packing", bench_options.with_packing,
                       "hold whole plans against each other, which pack weights in each call [weights packed before]");
  bench_verb->add_option("--format", bench_options.format, "table, json or csv [table]");
  bench_verb->add_option("--out", bench_options.out, "a file for it, instead of the terminal");
  common.add_to(*bench_verb);
  common.add_recording_to(*bench_verb);
  bench_problem.add_to(*bench_verb, {.tolerance = false});
  SweepOptionsCli sweep_options;
  ProblemOptions sweep_problem;
  auto* sweep_verb = add("sweep", "kernels over one parameter: at each value right or wrong, and how fast");
  sweep_verb->add_option("KERNEL", sweep_options.kernels, "kernels or references; auto: the best at each value");
  sweep_verb->add_option("--over", sweep_options.over,
                         "FIELD[,FIELD]=VALUES: stride=1..8, length=1024..65536 (doubled where every one would be more "
                         "than 32), kernel-size=3..25+2, in-channels,out-channels=64..512*2, length=1000,1024");
  sweep_verb
      ->add_option("--times", sweep_options.times,
                   "predicted (the planner's model), measured (the emulator's own, where there is no GPU), none, or "
                   "auto: measured on a GPU, else predicted")
      ->capture_default_str();
  sweep_verb
      ->add_option("--verdicts", sweep_options.verdicts,
                   "all, none, or auto: on the emulator none of problems that are a GPU's work")
      ->capture_default_str();
  sweep_verb->add_option("--format", sweep_options.format, "table, json or csv [table]");
  sweep_verb->add_option("--out", sweep_options.out, "a file for it, instead of the terminal");
  common.add_to(*sweep_verb);
  sweep_problem.add_to(*sweep_verb, {.tolerance = false});
  RecordOptionsCli record_options;
  ProblemOptions record_problem;
  auto* record_verb = add("record", "verdicts, profiles and comparisons, kept in a file that shows them without a GPU");
  record_verb->add_option("OUT", record_options.out, "the recording, a .convscope file");
  record_verb->add_option("KERNEL", record_options.kernels, "kernels or references, or all [all that can run here]");
  record_verb->add_option("--set", record_options.set, "counters: live (one pass), memory (five) or full (all sets)")
      ->capture_default_str();
  record_verb->add_flag("--add", record_options.add, "keep what the file holds already, and record the rest");
  record_verb->add_option("--again", record_options.again, "with --add: these are recorded anew (a,b,…)")
      ->delimiter(',');
  record_verb->add_option("--limit", record_options.limit, "seconds after which nothing more is begun");
  common.add_to(*record_verb);
  record_problem.add_to(*record_verb);
  for (int i = 0; i < argc; i++) record_options.command += i == 0 ? "convscope" : std::string(" ") + argv[i];
  ExportOptionsCli export_options;
  ProblemOptions export_problem;
  auto* export_verb = add("export", "a kernel as a file of its own, for one problem: a PyTorch module or CUDA C++");
  export_verb->add_option("KERNEL", export_options.kernel, "a kernel, or auto: the best for the problem");
  export_verb
      ->add_option("--format", export_options.format,
                   "pytorch, cuda, or source: the kernel as it is, to be changed and run as a file")
      ->capture_default_str();
  export_verb->add_option("--out", export_options.out, "a file for it, instead of the terminal");
  export_verb->add_option(
      "--architecture", export_options.architecture,
      "the GPU it is for, like sm_90: what auto chooses for [the GPU here, else sm_90]; a kernel that "
      "is named is refused where it cannot run there");
  export_verb->add_option(
      "--activation", export_options.activation,
      "what follows, fused into the kernel: relu, leaky_relu or leaky_relu:SLOPE [none; slope 0.01]");
  export_verb->add_option("--function", export_options.function,
                          "with --format cuda: the name of the file's C function, so that several files can be linked "
                          "into one program [conv_transpose1d]");
  common.add_to(*export_verb);
  const Uses no_values = {.values = Uses::Values::none, .seed = false, .tolerance = false, .samples = false};
  export_problem.add_to(*export_verb, no_values);
  DisassembleOptionsCli disassemble_options;
  ProblemOptions disassemble_problem;
  auto* disassemble_verb = add("disassemble", "a kernel's source with the instructions that each line became");
  disassemble_verb->add_option("KERNEL", disassemble_options.kernel, "a name from `convscope list kernels`");
  disassemble_verb->add_flag("--ptx", disassemble_options.ptx, "PTX, as ptxas was given it, instead of SASS");
  disassemble_verb->add_option("--line", disassemble_options.line, "this line of the source alone");
  common.add_to(*disassemble_verb);
  disassemble_problem.add_to(*disassemble_verb, no_values);
  auto* list = add("list", "kernels, presets, references, devices or recordings");
  list->add_option("WHAT", what, "kernels, presets, references, devices or recordings");
  common.add_to(*list, false);
  auto* info = add("info", "devices, libraries, and for each missing piece what it costs and how to get it");
  common.add_to(*info, false);
  ScreenshotOptions shot;
  auto* screenshot = add("screenshot", "the window, or one of its panels, as a PNG file; needs no display");
  screenshot->add_option("OUT", shot.out, "the PNG file");
  screenshot->add_option("--session", shot.session,
                         "a session or a kernel's .cu or .py file to show, or a recording: a path, or a name of "
                         "`convscope list recordings`");
  screenshot->add_option("--panel", shot.panel, "one panel alone, by its title");
  screenshot->add_option("--size", shot.size, "WIDTHxHEIGHT in pixels")->capture_default_str();
  screenshot->add_option("--theme", shot.theme, "dark or light")->capture_default_str();
  screenshot->add_option("--scale", shot.scale, "0.75 to 2")->capture_default_str();
  screenshot->add_option("--action", shot.actions, "an action to run first, by id (next-failing, …); may be repeated");
  screenshot->add_option("--timeout", shot.timeout, "seconds to wait for the picture")->capture_default_str();
  screenshot->add_option("--engine", shot.engine, "command that starts the engine");
  screenshot->add_flag("--trust", shot.trust, "run what is in a .cu or .py file that is named: it has your rights");
  screenshot->add_flag("--json", common.json, "one JSON document on stdout");
  auto* engine = add("engine", "the engine on stdin and stdout, which all other verbs use");
  auto* help = add("help", "explain a verb");
  help->add_option("VERB", verb, "a verb");
  help->add_flag("--json", common.json, "the same text in a JSON document");

  // --json decides how even a refused command line is answered.
  for (int i = 1; i < argc; i++) common.json |= std::string(argv[i]) == "--json";
  bool as_json = common.json;
  auto say = [&](const std::string& text) {
    if (as_json)
      print_json({{"help", text}});
    else
      std::fputs(text.c_str(), stdout);
    return 0;
  };
  try {
    refuse_values_of_flags(app, {argv + 1, argv + std::max(argc, 1)});
    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return say(app.help());  // of the verb that was given, if one was
    } catch (const CLI::ParseError& e) {
      throw refusal(e);
    }
    if (version) {
      if (as_json)
        print_json({{"convscope", CONVSCOPE_VERSION}});
      else
        fmt::print("convscope {}\n", CONVSCOPE_VERSION);
      return 0;
    }
    if (app.get_subcommands().empty()) {
      auto left = app.remaining();
      std::erase(left, "--json");
      const bool trust = std::erase(left, "--trust") > 0;
      bool file = !left.empty() && !left[0].starts_with("-") && left.size() == 1 &&
                  (left[0].find('.') != std::string::npos || left[0].find('/') != std::string::npos);
      if (left.empty() || file) {
        return verb_window(left.empty() ? "" : left[0], trust);
      }
      if (left[0].starts_with("-")) throw InputError("option", left[0], "is not known: see `convscope help`");
      throw unknown_verb(app, left[0]);
    }
    CLI::App* chosen = app.get_subcommands()[0];
    refuse_leftovers(*chosen);
    refuse_empty_values(*chosen);
    if (chosen == engine) return serve_engine();
    if (chosen == help) {
      // Not app.help(): that is the text of the verb that was given, which is `help`.
      if (verb.empty()) return say(app.get_formatter()->make_help(&app, "convscope", CLI::AppFormatMode::Normal));
      for (auto* s : app.get_subcommands([](CLI::App*) { return true; }))
        if (s->get_name() == verb) return say(s->help("convscope"));
      throw unknown_verb(app, verb);
    }
    catch_interrupts();
    common.timeout_s();  // of every verb, whether a kernel runs or not
    auto need = [](const std::string& value, const char* name, const char* example) {
      if (value.empty()) throw InputError(name, "", std::string("is missing: for example `convscope ") + example + "`");
    };
    if (chosen == demo) return verb_demo(common, out);
    if (chosen == run_verb) {
      need(run_options.kernel, "kernel", "run S4 --preset kernelbench-79-small");
      return verb_run(common, problem, run_options);
    }
    if (chosen == explain_verb) {
      need(kernel, "kernel", "explain S4 --at 0,0,10 --preset kernelbench-79-small");
      need(at, "at", "explain S4 --at 0,0,10 --preset kernelbench-79-small");
      return verb_explain(common, explain_problem, kernel, at);
    }
    if (chosen == xray_verb) {
      need(kernel, "kernel", "xray S4 --preset kernelbench-79");
      return verb_xray(common, xray_problem, kernel);
    }
    if (chosen == check_verb) {
      need(check_options.kernel, "kernel", "check S2 --stride 2");
      return verb_check(common, check_problem, check_options);
    }
    if (chosen == profile_verb) {
      need(profile_options.kernel, "kernel", "profile tiled --preset kernelbench-79-small");
      return verb_profile(common, profile_problem, profile_options);
    }
    if (chosen == record_verb) {
      need(record_options.out, "out", "record h200.convscope all --preset kernelbench-79");
      return verb_record(common, record_problem, record_options);
    }
    if (chosen == bench_verb) return verb_bench(common, bench_problem, bench_options);
    if (chosen == sweep_verb) {
      const char* example = "sweep S4 direct --over stride=1..8 --preset kernelbench-79-small";
      if (sweep_options.kernels.empty()) need("", "kernel", example);
      need(sweep_options.over, "over", example);
      return verb_sweep(common, sweep_problem, sweep_options);
    }
    if (chosen == export_verb) {
      need(export_options.kernel, "kernel", "export auto --preset kernelbench-79 --accuracy tf32 --out model_new.py");
      return verb_export(common, export_problem, export_options);
    }
    if (chosen == disassemble_verb) {
      need(disassemble_options.kernel, "kernel", "disassemble tiled --line 85");
      return verb_disassemble(common, disassemble_problem, disassemble_options);
    }
    if (chosen == list) {
      need(what, "list", "list kernels");
      return verb_list(common, what);
    }
    if (chosen == info) return verb_info(common);
    if (chosen == screenshot) {
      need(shot.out, "out", "screenshot picture.png");
      return verb_screenshot(shot, as_json);
    }
    return 2;
  } catch (const std::exception& e) {
    return refuse(e, as_json);
  }
}

}  // namespace
}  // namespace convscope

int main(int argc, char** argv) {
  // What is said where nobody can read it must not look like success: it goes to a full device then, as on a full disk.
  const bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
  convscope::open_standard_descriptors();
  if (closed)
    if (const int full = open("/dev/full", O_WRONLY | O_CLOEXEC); full >= 0) dup2(full, STDOUT_FILENO), close(full);
  // Threads of oneDNN's OpenMP spin at barriers by its own measure for so long that a call takes fifty times as long
  // where anything else has one of their cores (GCC's libgomp manual, GOMP_SPINCOUNT). It is read when the library is
  // loaded; what the user has set stays.
  if (!std::getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "1000", 0);
  int code = convscope::ended_by(convscope::run(argc, argv));
  // A full disk must not look like success; a reader that has gone (| head) wants no more.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && errno != EPIPE) {
    std::fprintf(stderr, "convscope: stdout cannot be written: %s\n", closed ? "it is closed" : std::strerror(errno));
    return code ? code : 1;
  }
  return code;
}
