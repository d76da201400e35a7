// convscope: the command line. Each verb is a function in verbs.h.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

#include "app/cli/session.h"
#include "app/cli/verb_options.h"
#include "app/cli/watch.h"
#include "app/cli/window.h"
#include "app/cli/words.h"
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

// What is wrong with a kernel's file is mended there; of anything else that is refused no change of it makes more.
int run_and_watch(const Verb& verb, const CommonOptions& common) {
  return watch(common, [&] {
    try {
      return verb.run();
    } catch (const EngineError& e) {
      const json& error = e.error();
      static const std::set<std::string> of_a_kernel = {"compile", "crashed", "hung", "cancelled"};
      if (!of_a_kernel.contains(error.value("code", "")) && error.value("field", "") != "kernel") throw;
      return refuse(e, false);
    } catch (const InputError& e) {
      if (e.field() != "kernel") throw;
      return refuse(e, false);
    }
  });
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
  std::string command = "convscope";
  for (int i = 1; i < argc; i++) command += std::string(" ") + argv[i];
  const std::vector<Verb> verbs = add_verbs(app, common, command);
  const CLI::App* engine = add_verb(app, "engine", "the engine on stdin and stdout, which all other verbs use");
  CLI::App* help = add_verb(app, "help", "explain a verb");
  std::string of_verb;
  help->add_option("VERB", of_verb, "a verb");
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
      if (of_verb.empty()) return say(app.get_formatter()->make_help(&app, "convscope", CLI::AppFormatMode::Normal));
      for (auto* s : app.get_subcommands([](CLI::App*) { return true; }))
        if (s->get_name() == of_verb) return say(s->help("convscope"));
      throw unknown_verb(app, of_verb);
    }
    catch_interrupts();
    keep_words({argv + 1, argv + argc});
    common.timeout_s();  // of every verb, whether a kernel runs or not
    for (const Verb& v : verbs)
      if (v.app == chosen) return common.watch ? run_and_watch(v, common) : v.run();
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
