#include "app/cli/verb_options.h"

#include <memory>

#include "app/cli/verbs.h"
#include "app/cli/window.h"

namespace convscope {
namespace {

constexpr const char* own_kernel = "a name from `convscope list kernels`, or a .cu or .py file";
// Of what needs no inputs.
constexpr Uses no_values{.values = Uses::Values::none, .seed = false, .tolerance = false, .samples = false};

void need(const std::string& value, const char* name, const char* example) {
  if (value.empty()) throw InputError(name, "", std::string("is missing: for example `convscope ") + example + "`");
}

// Options that live as long as what is done with them.
template <class T>
std::shared_ptr<T> kept(T options = {}) {
  return std::make_shared<T>(std::move(options));
}

Verb add_demo(CLI::App& program, CommonOptions& common) {
  auto* s =
      add_verb(program, "demo", "every kernel on problems that suit the device: a table, and a report with pictures");
  auto out = kept<std::string>("convscope-demo");
  s->add_option("--out", *out, "folder for report.html and the pictures")->capture_default_str();
  common.add_to(*s, false);
  return {s, [&common, out] { return verb_demo(common, *out); }};
}

Verb add_run(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "run", "run a kernel once beside the reference: verdict, errors, time");
  auto o = kept<RunOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, own_kernel);
  s->add_option("--save", o->save, "folder for x.npy, w.npy, b.npy, y.npy, oracle.npy");
  common.add_to(*s);
  common.add_watch_to(*s);
  common.add_recording_to(*s);
  p->add_to(*s);
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "run S4 --preset kernelbench-79-small");
            return verb_run(common, *p, *o);
          }};
}

Verb add_explain(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "explain", "the taps of one output element, and what the kernel does instead");
  auto kernel = kept<std::string>(), at = kept<std::string>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", *kernel, own_kernel);
  s->add_option("--at", *at, "the element: n,co,j");
  common.add_to(*s);
  common.add_watch_to(*s);
  p->add_to(*s, {.tolerance = false, .samples = false});
  return {s, [&common, kernel, at, p] {
            need(*kernel, "kernel", "explain S4 --at 0,0,10 --preset kernelbench-79-small");
            need(*at, "at", "explain S4 --at 0,0,10 --preset kernelbench-79-small");
            return verb_explain(common, *p, *kernel, *at);
          }};
}

Verb add_xray(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "xray",
                     "which term of a kernel's index is wrong: its products on small problems, and a formula");
  auto kernel = kept<std::string>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", *kernel, own_kernel);
  common.add_to(*s);
  common.add_watch_to(*s);
  // It launches with inputs of its own.
  p->add_to(*s, {.values = Uses::Values::accepted, .tolerance = false, .samples = false});
  return {s, [&common, kernel, p] {
            need(*kernel, "kernel", "xray S4 --preset kernelbench-79");
            return verb_xray(common, *p, *kernel);
          }};
}

Verb add_fix(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "fix", "which one edit of a wrong kernel file's text makes it right, tried and judged");
  auto kernel = kept<std::string>();
  auto write = kept<bool>();
  auto limit = kept<std::string>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", *kernel, "a .cu or .py file");
  s->add_flag("--write", *write, "make the edit in the file");
  s->add_option("--limit", *limit, "seconds that edits are tried for [30]");
  common.add_to(*s);
  // It launches with inputs of its own.
  p->add_to(*s, {.values = Uses::Values::accepted, .tolerance = false, .samples = false});
  return {s, [&common, kernel, write, limit, p] {
            need(*kernel, "kernel", "fix mine.cu --trust --preset kernelbench-79-small");
            return verb_fix(common, *p, *kernel, *write, *limit);
          }};
}

Verb add_tune(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "tune",
                     "a faster form of a kernel file, found on the GPU: sizes, unrolling and bounds in its text are "
                     "changed, and what is right is timed");
  auto o = kept<TuneOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, "a .cu or .py file");
  s->add_flag("--write", o->write, "make the changes in the file");
  s->add_flag("--for-layer", o->for_layer,
              "stride, kernel size, padding, dilation and groups may become constants: right for such layers alone");
  s->add_flag("--hot", o->hot, "hot times decide [cold ones, with what the L2 cache held before written out]");
  s->add_option("--limit", o->limit, "seconds after which no further form is tried [180]");
  common.add_to(*s);
  p->add_to(*s, {.tolerance = false});
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "tune mine.cu --trust --preset kernelbench-79");
            return verb_tune(common, *p, *o);
          }};
}

Verb add_check(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "check",
                     "a kernel on many problems that are drawn; the first that fails is made as small as it goes. "
                     "Parameters that are given stay as they are; of a preset, all but channels, batch and length");
  auto o = kept<CheckOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, own_kernel);
  s->add_option("--cases", o->cases, "problems that are judged [100]");
  common.add_to(*s);
  common.add_watch_to(*s);
  p->add_to(*s, {.values = Uses::Values::none, .tolerance = false, .samples = false});
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "check S2 --stride 2");
            return verb_check(common, *p, *o);
          }};
}

Verb add_profile(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "profile",
                     "where a kernel's time goes: times, clocks, counters, occupancy, roofline, and what to try");
  auto o = kept<ProfileOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, "a kernel or a reference (see `convscope list`)");
  s->add_option("--set", o->set, "counters: live (one pass), memory (five) or full (all sets)")->capture_default_str();
  s->add_option("--format", o->format, "table, json, csv or chrome-trace [table]");
  s->add_option("--out", o->out, "a file for it, instead of the terminal");
  common.add_to(*s);
  common.add_watch_to(*s);
  common.add_recording_to(*s);
  p->add_to(*s, {.tolerance = false});
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "profile tiled --preset kernelbench-79-small");
            return verb_profile(common, *p, *o);
          }};
}

Verb add_bench(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "bench",
                     "kernels against each other, samples taken in turn: SAME, FASTER, SLOWER or AMBIGUOUS");
  auto o = kept<BenchOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernels, "kernels or references [every kernel that takes the problem]");
  s->add_option("--against", o->against,
                "what they are compared with [the strictest reference there is, else the first kernel]");
  s->add_flag("--with-packing", o->with_packing,
              "hold whole plans against each other, which pack weights in each call [weights packed before]");
  s->add_option(
      "--fail-on", o->fail_on,
      "slower or slower:PERCENT: exit code 1 where the first kernel is SLOWER (by more than PERCENT) than what "
      "it is compared with");
  s->add_option("--format", o->format, "table, json or csv [table]");
  s->add_option("--out", o->out, "a file for it, instead of the terminal");
  common.add_to(*s);
  common.add_watch_to(*s);
  common.add_recording_to(*s);
  p->add_to(*s, {.tolerance = false});
  return {s, [&common, o, p] { return verb_bench(common, *p, *o); }};
}

Verb add_sweep(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "sweep", "kernels over one parameter: at each value right or wrong, and how fast");
  auto o = kept<SweepOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernels, "kernels or references; auto: the best at each value");
  s->add_option("--over", o->over,
                "FIELD[,FIELD]=VALUES: stride=1..8, length=1024..65536 (doubled where every one would be more "
                "than 32), kernel-size=3..25+2, in-channels,out-channels=64..512*2, length=1000,1024");
  s->add_option("--times", o->times,
                "predicted (the planner's model), measured (the emulator's own, where there is no GPU), none, or "
                "auto: measured on a GPU, else predicted")
      ->capture_default_str();
  s->add_option("--verdicts", o->verdicts, "all, none, or auto: on the emulator none of problems that are a GPU's work")
      ->capture_default_str();
  s->add_option("--format", o->format, "table, json or csv [table]");
  s->add_option("--out", o->out, "a file for it, instead of the terminal");
  common.add_to(*s);
  p->add_to(*s, {.tolerance = false});
  return {s, [&common, o, p] {
            const char* example = "sweep S4 direct --over stride=1..8 --preset kernelbench-79-small";
            if (o->kernels.empty()) need("", "kernel", example);
            need(o->over, "over", example);
            return verb_sweep(common, *p, *o);
          }};
}

Verb add_record(CLI::App& program, CommonOptions& common, const std::string& command) {
  auto* s =
      add_verb(program, "record", "verdicts, profiles and comparisons, kept in a file that shows them without a GPU");
  auto o = kept<RecordOptionsCli>();
  auto p = kept<ProblemOptions>();
  o->command = command;
  s->add_option("OUT", o->out, "the recording, a .convscope file");
  s->add_option("KERNEL", o->kernels, "kernels, references or .cu or .py files, or all [all that can run here]");
  s->add_option("--set", o->set, "counters: live (one pass), memory (five) or full (all sets)")->capture_default_str();
  s->add_flag("--add", o->add, "keep what the file holds already, and record the rest");
  s->add_option("--again", o->again, "with --add: these are recorded anew (a,b,…)")->delimiter(',');
  s->add_option("--limit", o->limit, "seconds after which nothing more is begun; 0: no limit [0]");
  common.add_to(*s);
  p->add_to(*s);
  return {s, [&common, o, p] {
            need(o->out, "out", "record h200.convscope all --preset kernelbench-79");
            return verb_record(common, *p, *o);
          }};
}

Verb add_report(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "report",
                     "kernels on a problem as one HTML file: verdicts, pictures, why an element is wrong, their text");
  auto o = kept<ReportOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("OUT", o->out, "the report, a .html file");
  s->add_option("KERNEL", o->kernels, "names from `convscope list kernels`, auto, or .cu or .py files");
  common.add_to(*s);
  p->add_to(*s);
  return {s, [&common, o, p] {
            const char* example = "report s4.html S4 --preset kernelbench-79-small";
            need(o->out, "out", example);
            if (o->kernels.empty()) need("", "kernel", example);
            return verb_report(common, *p, *o);
          }};
}

Verb add_compare(CLI::App& program, CommonOptions& common) {
  auto* s =
      add_verb(program, "compare",
               "two recordings: verdicts and times then and now; exit code 1 where a kernel is not right any more");
  auto o = kept<CompareOptionsCli>();
  s->add_option("THEN", o->then, "the earlier recording: a file, or a name from `convscope list recordings`");
  s->add_option("NOW", o->now, "the later one: a file, or a name from `convscope list recordings`");
  s->add_option("--fail-on", o->fail_on,
                "slower or slower:PERCENT: exit code 1 as well where a kernel is SLOWER (by more than PERCENT) now");
  s->add_flag("--with-packing", o->with_packing,
              "hold whole plans against each other, which pack weights in each call [weights packed before]");
  s->add_option("--format", o->format, "table or json [table]");
  s->add_option("--out", o->out, "a file for it, instead of the terminal");
  s->add_flag("--json", common.json, "one JSON document on stdout, nothing else there");
  return {s, [&common, o] {
            const char* example = "compare before.convscope after.convscope --fail-on slower:3";
            need(o->then, "then", example);
            need(o->now, "now", example);
            return verb_compare(common, *o);
          }};
}

Verb add_export(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "export", "a kernel as a file of its own, for one problem: a PyTorch module or CUDA C++");
  auto o = kept<ExportOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, "a kernel, or auto: the best for the problem");
  s->add_option("--format", o->format, "pytorch, cuda, or source: the kernel as it is, to be changed and run as a file")
      ->capture_default_str();
  s->add_option("--out", o->out, "a file for it, instead of the terminal");
  s->add_option("--architecture", o->architecture,
                "the GPU it is for, like sm_90: what auto chooses for [the GPU here, else sm_90]; a kernel that "
                "is named is refused where it cannot run there");
  s->add_option("--activation", o->activation,
                "what follows, fused into the kernel: relu, leaky_relu or leaky_relu:SLOPE [none; slope 0.01]");
  s->add_option("--function", o->function,
                "with --format cuda: the name of the file's C function, so that several files can be linked "
                "into one program [conv_transpose1d]");
  common.add_to(*s);
  p->add_to(*s, no_values);
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "export auto --preset kernelbench-79 --accuracy tf32 --out model_new.py");
            return verb_export(common, *p, *o);
          }};
}

Verb add_disassemble(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "disassemble", "a kernel's source with the instructions that each line became");
  auto o = kept<DisassembleOptionsCli>();
  auto p = kept<ProblemOptions>();
  s->add_option("KERNEL", o->kernel, "a name from `convscope list kernels`");
  s->add_flag("--ptx", o->ptx, "PTX, as ptxas was given it, instead of SASS");
  s->add_option("--line", o->line, "this line of the source alone");
  common.add_to(*s);
  p->add_to(*s, no_values);
  return {s, [&common, o, p] {
            need(o->kernel, "kernel", "disassemble tiled --line 85");
            return verb_disassemble(common, *p, *o);
          }};
}

Verb add_list(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "list", "kernels, presets, references, devices or recordings");
  auto what = kept<std::string>();
  s->add_option("WHAT", *what, "kernels, presets, references, devices or recordings");
  common.add_to(*s, false);
  return {s, [&common, what] {
            need(*what, "list", "list kernels");
            return verb_list(common, *what);
          }};
}

Verb add_info(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "info", "devices, libraries, and for each missing piece what it costs and how to get it");
  common.add_to(*s, false);
  return {s, [&common] { return verb_info(common); }};
}

Verb add_screenshot(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "screenshot", "the window, or one of its panels, as a PNG file; needs no display");
  auto o = kept<ScreenshotOptions>();
  s->add_option("OUT", o->out, "the PNG file");
  s->add_option("--session", o->session,
                "a session or a kernel's .cu or .py file to show, or a recording: a path, or a name of "
                "`convscope list recordings`");
  s->add_option("--panel", o->panel, "one panel alone, by its title");
  s->add_option("--size", o->size, "WIDTHxHEIGHT in pixels")->capture_default_str();
  s->add_option("--theme", o->theme, "dark or light")->capture_default_str();
  s->add_option("--scale", o->scale, "0.75 to 2")->capture_default_str();
  s->add_option("--action", o->actions, "an action to run first, by id (next-failing, …); may be repeated");
  s->add_option("--timeout", o->timeout, "seconds to wait for the picture")->capture_default_str();
  s->add_option("--engine", o->engine, "command that starts the engine");
  s->add_flag("--trust", o->trust, "run what is in a .cu or .py file that is named: it has your rights");
  s->add_flag("--json", common.json, "one JSON document on stdout");
  return {s, [&common, o] {
            need(o->out, "out", "screenshot picture.png");
            return verb_screenshot(*o, common.json);
          }};
}

Verb add_completion(CLI::App& program, CommonOptions& common) {
  auto* s = add_verb(program, "completion", "a script that completes verbs, options and names in a shell");
  auto shell = kept<std::string>();
  s->add_option("SHELL", *shell, "bash, zsh or fish");
  s->add_flag("--json", common.json, "the script in a JSON document");
  return {s, [&common, &program, shell] {
            need(*shell, "shell", "completion bash");
            return verb_completion(common, program, *shell);
          }};
}

}  // namespace

CLI::App* add_verb(CLI::App& program, const char* name, const char* about) {
  CLI::App* s = program.add_subcommand(name, about);
  s->allow_extras();
  s->set_help_flag("--help,-h", "this text");
  return s;
}

std::vector<Verb> add_verbs(CLI::App& program, CommonOptions& common, const std::string& command) {
  return {add_demo(program, common),
          add_run(program, common),
          add_explain(program, common),
          add_xray(program, common),
          add_fix(program, common),
          add_tune(program, common),
          add_check(program, common),
          add_profile(program, common),
          add_bench(program, common),
          add_sweep(program, common),
          add_record(program, common, command),
          add_compare(program, common),
          add_export(program, common),
          add_disassemble(program, common),
          add_list(program, common),
          add_info(program, common),
          add_screenshot(program, common),
          add_completion(program, common),
          add_report(program, common)};
}

}  // namespace convscope
