#include "tests/app/cli/cli.h"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace convscope::test {
namespace fs = std::filesystem;
namespace {

double patience_s() { return 180 * slowness; }

std::string built(const std::string& name) { return split_command(program(name)).front(); }

Words command_line(const std::string& mark, const Words& variables, const Words& program_and_arguments) {
  Words words = {
      "env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", "-u", "CONVSCOPE_PATIENCE_S", "CUDA_VISIBLE_DEVICES=", mark};
  return words + variables + program_and_arguments;
}

std::string next_mark() {
  static std::atomic<int> count{0};
  return "CONVSCOPE_TEST_MARK=" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

}  // namespace

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

json Finished::document() const {
  json j = json::parse(out, nullptr, false);  // the whole text must be one document
  EXPECT_TRUE(j.is_object()) << "stdout is: " << out << "\nstderr is: " << err;
  return j.is_object() ? j : json();
}

Cli::Cli(const Words& arguments, const Words& variables) : mark_(next_mark()) {
  Words command = arguments;
  if (command.empty() || command[0] != "sh") command.insert(command.begin(), built("convscope"));
  process_ = std::make_unique<ChildProcess>(command_line(mark_, variables, command));
  for (int fd : {process_->from(), process_->log()}) fcntl(fd, F_SETFL, O_NONBLOCK);
}

Cli::~Cli() {
  if (!finished_) finish();
  EXPECT_TRUE(wait_until([&] { return processes().empty(); }, 3 * slowness)) << "an engine is left behind";
}

std::vector<pid_t> Cli::processes() const {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    if (text.find(mark_ + '\0') != std::string::npos && exists(std::stoi(name))) found.push_back(std::stoi(name));
  }
  return found;
}

bool Cli::read_some(int wait_ms) {
  pollfd fds[] = {{out_open_ ? process_->from() : -1, POLLIN, 0}, {err_open_ ? process_->log() : -1, POLLIN, 0}};
  poll(fds, 2, wait_ms);
  auto drain = [](int fd, std::string& into, bool& open) {
    char part[65536];
    ssize_t n;
    while ((n = read(fd, part, sizeof part)) > 0) into.append(part, static_cast<size_t>(n));
    if (n == 0) open = false;
  };
  if (fds[0].revents) drain(process_->from(), result_.out, out_open_);
  if (fds[1].revents) drain(process_->log(), result_.err, err_open_);
  return out_open_ || err_open_;
}

bool Cli::says(const std::string& text, int times) {
  auto holds_it = [&] {
    int found = 0;
    for (size_t at = 0; (at = result_.err.find(text, at)) != std::string::npos; at += text.size()) found++;
    return found >= times;
  };
  while (!holds_it())
    if (watch_.seconds() > patience_s() || !read_some(50)) break;
  return holds_it();
}

const Finished& Cli::finish() {
  if (finished_) return result_;
  finished_ = true;
  // Its end is what counts: an engine that outlives it must not keep the pipes, and with them the test, waiting.
  bool late = false;
  while (!process_->ended()) {
    if (!read_some(20)) usleep(1000);
    if (!late && watch_.seconds() > patience_s()) {
      late = true;
      ADD_FAILURE() << "it takes for ever; so far: " << result_.out << result_.err;
      process_->kill();
    }
  }
  result_.seconds = watch_.seconds();
  for (Stopwatch rest; rest.seconds() < 1 && read_some(20);) {
  }
  std::string how = process_->wait();
  result_.by_signal = how.starts_with("signal ");
  if (how.empty())
    result_.code = 0;
  else
    result_.code =
        result_.by_signal ? 128 + std::stoi(how.substr(7)) : std::stoi(how.substr(std::string("exit code ").size()));
  return result_;
}

Finished convscope_run(const Words& arguments, const Words& variables) { return Cli(arguments, variables).finish(); }

Finished convscope_shell(const std::string& script, const Words& variables) {
  return Cli({"sh", "-c", "convscope() { '" + built("convscope") + "' \"$@\"; }; " + script}, variables).finish();
}

Words with_test_engine(Words arguments) { return std::move(arguments) + Words{"--engine", test_engine()}; }

void expect_refused(const Words& arguments, const std::string& field, const std::string& value,
                    const std::string& rule) {
  std::string line = "convscope: " + field + (value.empty() ? "" : " " + value) + " " + rule + "\n", what;
  for (const auto& word : arguments) what += word + " ";
  SCOPED_TRACE(what);
  auto plain = convscope_run(arguments);
  EXPECT_EQ(plain.code, 2);
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.err, line);
  Words words = arguments;
  words.insert(words.begin() + 1, "--json");  // not last: an option there may lack its value
  auto with_json = convscope_run(words);
  EXPECT_EQ(with_json.code, 2);
  EXPECT_EQ(with_json.err, line);
  json e = with_json.document()["error"];
  EXPECT_EQ(e["code"], "bad-input");
  EXPECT_EQ(e["field"], field);
  EXPECT_EQ(e["value"], value);
  EXPECT_EQ(e["rule"], rule);
}

Words fake_gpu(const Words& more) {
  auto fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
  return Words{"CONVSCOPE_LIBCUDA=" + fakes + "/libfake_cuda.so",
               "CONVSCOPE_LIBCUPTI=" + fakes + "/whole/libcupti.so.13",
               "CONVSCOPE_LIBNVML=" + fakes + "/libfake_nvml.so",
               "CONVSCOPE_LIBCUDNN=/nowhere/libcudnn.so.9",
               "FAKE_CUDA_KERNEL_US=50",
               "FAKE_CUPTI_KERNELS=direct_f32"} +
         more;
}

bool has_fake_gpu() {
  auto r = convscope_run({"list", "devices", "--json"}, fake_gpu());
  return r.document()["devices"][0]["kind"] == "cuda";
}

}  // namespace convscope::test
