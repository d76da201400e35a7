#include "app/cli/window.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "app/cli/options.h"
#include "app/cli/out_file.h"
#include "app/cli/session.h"
#include "app/engine/json_fields.h"
#include "app/engine/kernel_file.h"
#include "app/engine/packed.h"
#include "app/engine/process.h"

namespace convscope {
using nlohmann::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* instead =
    "`convscope demo` writes its pictures to files, and `convscope help` lists what prints to the terminal";

// A program of its own, so that a missing graphics library is a sentence and not a loader error.
std::vector<std::string> window_command(const std::vector<std::string>& arguments) {
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error).parent_path() / "convscope-window";
  if (!fs::exists(program, error)) throw MissingError("this build has no window", instead);
  std::vector<std::string> command{program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Becomes the window.
int become_window(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = window_command(arguments);
  std::vector<char*> argv;
  for (auto& a : command) argv.push_back(a.data());
  argv.push_back(nullptr);
  execv(command[0].c_str(), argv.data());
  throw MissingError(command[0] + " cannot be started (" + std::strerror(errno) + ")", instead);
}

// What is wrong with a file is wrong on every machine: it is said before what this one lacks.
void require_readable(const std::string& file) {
  if (file.ends_with(".cu") || file.ends_with(".py")) {
    read_kernel_file(file);
    return;
  }
  std::error_code error;
  if (!fs::exists(file, error)) throw InputError("file", file, "is no file that is there");
  if (!file.ends_with(".convscope")) return;
  const json session = read_json_file("session", file);
  if (!session.is_object() || json_fields::text(session, "type") != "convscope-session")
    throw InputError("session", file, "is no convscope session");
}

// A kernel's file is code, for a picture as for any other verb.
void require_trust(const ScreenshotOptions& o) {
  if (!o.session.ends_with(".cu") && !o.session.ends_with(".py")) return;
  read_kernel_file(o.session);
  if (!o.trust) throw InputError("kernel", o.session, untrusted_file);
}

// For the program that draws, which checks the rest.
std::vector<std::string> arguments_of(const ScreenshotOptions& o) {
  std::vector<std::string> v{"--screenshot", o.out,   "--size",    o.size,    "--theme", o.theme,
                             "--scale",      o.scale, "--timeout", o.timeout, "--forget"};
  for (const auto& [name, value] : {std::pair{"--session", o.session}, {"--panel", o.panel}, {"--engine", o.engine}})
    if (!value.empty()) v.insert(v.end(), {name, value});
  for (const auto& a : o.actions) v.insert(v.end(), {"--action", a});
  if (o.trust) v.push_back("--trust");
  return v;
}

// The refusal in the program's last line, "field value rule", taken apart again.
json error_of(const ScreenshotOptions& o, const std::string& line, int code) {
  json e = {{"code", code == 2 ? "bad-input" : code == 3 ? "missing" : "failed"}, {"message", line}};
  if (code != 2) return e;
  const std::string field = line.substr(0, line.find(' ')), rest = line.substr(std::min(line.size(), field.size() + 1));
  std::string value = rest.substr(0, rest.find(' '));
  std::vector<std::string> typed{o.session, o.panel, o.out};  // may have blanks in them
  typed.insert(typed.end(), o.actions.begin(), o.actions.end());
  for (const auto& t : typed)
    if (t.size() > value.size() && rest.starts_with(t + " ")) value = t;
  e.update({{"field", field}, {"value", value}, {"rule", rest.substr(std::min(rest.size(), value.size() + 1))}});
  return e;
}

struct Drawn {
  int code = 0;
  std::vector<std::string> said;  // lines, without the program's name before them
};

// Passes on what it says, as it comes.
Drawn draw(const ScreenshotOptions& o) {
  ChildProcess window(window_command(arguments_of(o)));
  window.close_input();
  Drawn drawn;
  std::string text;
  for (bool open = true; open;) {
    pollfd fd{window.log(), POLLIN, 0};
    poll(&fd, 1, 50);
    if (interrupted()) {
      window.kill();
      throw Cancelled();
    }
    if (!fd.revents) continue;
    char part[4096];
    const ssize_t n = read(window.log(), part, sizeof part);
    open = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) text.append(part, static_cast<size_t>(n));
    for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      std::fprintf(stderr, "%s\n", text.substr(0, end).c_str());
      constexpr std::string_view own = "convscope: ";
      if (text.starts_with(own)) drawn.said.push_back(text.substr(own.size(), end - own.size()));
    }
  }
  const std::string how = window.wait();
  constexpr std::string_view exited = "exit code ";
  if (how.starts_with(exited)) {
    drawn.code = std::atoi(how.c_str() + exited.size());
  } else if (!how.empty()) {
    drawn.code = 4, drawn.said.push_back("the program that draws ended with " + how);
    std::fprintf(stderr, "convscope: %s\n", drawn.said.back().c_str());
  }
  return drawn;
}

}  // namespace

int verb_window(const std::string& file, bool trust) {
  if (!file.empty()) require_readable(file);
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
    throw MissingError("there is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)",
                       std::string("`convscope screenshot OUT.png` draws the window into a file, ") + instead);
  std::vector<std::string> arguments;
  if (!file.empty()) arguments.push_back(file);
  if (trust) arguments.push_back("--trust");
  return become_window(arguments);
}

int verb_screenshot(const ScreenshotOptions& options, bool as_json) {
  if (real_number("timeout", options.timeout) <= 0)
    throw InputError("timeout", options.timeout, "must be greater than 0 seconds");
  if (const double scale = real_number("scale", options.scale); scale < 0.75 || scale > 2)
    throw InputError("scale", options.scale, "must be 0.75 to 2");
  if (!options.out.ends_with(".png") && !options.out.ends_with(".PNG"))
    throw InputError("out", options.out, "must end in .png: it becomes a PNG file");
  if (auto folder = fs::absolute(options.out).parent_path(); !fs::is_directory(folder))
    throw InputError("out", options.out, "cannot be written: there is no folder " + folder.string());
  require_no_folder("out", options.out);
  { OutFile probe("out", options.out); }  // said before the picture is drawn, not after it
  require_trust(options);
  const Drawn drawn = draw(options);
  const std::string last = drawn.said.empty() ? "" : drawn.said.back();
  // A script must not take a half picture for a whole one; what is missing has been said.
  const bool late = last.starts_with("the picture was not complete");
  const int code = drawn.code ? drawn.code : late ? 1 : 0;
  if (!as_json) return code;
  if (drawn.code) {
    json e = {{"field", nullptr}, {"value", nullptr}, {"rule", last}};
    e.update(error_of(options, last.empty() ? "the window could not be drawn" : last, drawn.code));
    print_json({{"error", e}});
    return drawn.code;
  }
  json document = {{"convscope", CONVSCOPE_VERSION}, {"file", options.out}, {"complete", !late}};
  if (late) document["reason"] = last;
  print_json(document);
  return code;
}

}  // namespace convscope
