// Kernels from outside: files that a person opened and trusts. Each is given to the engine, and again whenever it
// changes on disk.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "app/engine/kernel_file.h"
#include "app/model/requests.h"
#include "app/model/workbench.h"
#include "kernels/base/error.h"
#include "kernels/base/safe_file.h"

namespace convscope {
using nlohmann::json;
namespace {

// When a compilation began that has just come, as a clock on the wall says.
std::string time_of_day(double seconds_ago) {
  const auto then = std::chrono::system_clock::now() - std::chrono::duration<double>(seconds_ago);
  const std::time_t at =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(then));
  std::tm wall{};
  localtime_r(&at, &wall);
  return fmt::format("{:02}:{:02}:{:02}", wall.tm_hour, wall.tm_min, wall.tm_sec);
}

}  // namespace

void Workbench::bring_file(const std::string& path, const std::string& device) {
  std::string text = read_kernel_file(path);
  OpenedFile& file = files_[path];
  const bool was_gone = std::exchange(file.gone, false);
  const bool again = file.text == text;  // for another device
  if (again && file.device == device && !file.compiling && !was_gone) {
    if (file.trouble.empty() && file_came_) file_came_(path, "");
    return;
  }
  if (!again && file.compiling) link_.cancel(file.request);
  if (!again && file_of_kernel(wanted_.kernel) == path) stop_for_new_text();
  file.text = text;
  file.texts += !again;
  if (!again) recorded_.texts_changed();
  file.compiling = true;
  file.since = std::chrono::steady_clock::now();
  if (!watch_)
    watch_ = std::make_unique<FileWatch>(
        [this](const std::string& changed) { link_.deliver([this, changed] { read_again(changed); }); });
  if (file.device.empty()) watch_->watch(path);
  file.device = device;
  const uint64_t serial = ++file.serial;
  file.request = link_.lend(path, kernel_file_request(path, device), as_payload(text),
                            [this, path, serial, again](Answer a) { took_file(path, serial, again, std::move(a)); });
}

// What is done with the text before: the compiler would wait for it.
void Workbench::stop_for_new_text() {
  if (running_) link_.cancel(run_id_), run_was_cut_ = true;
  if (profiling_) link_.cancel(profile_id_), profile_serial_++, profiling_ = false;
  if (std::exchange(cause_waits_for_, 0)) link_.cancel(cause_id_);
  if (machine_code_waiting_) link_.cancel(machine_code_id_), machine_code_cut_ = true;
  make_way();
}

bool Workbench::rewrite_file(const std::string& path, const std::string& text, const std::string& before) {
  std::error_code none;
  const bool there = std::filesystem::exists(path, none);
  constexpr size_t most = 1 << 20;  // as read_kernel_file() takes it
  if (text.size() > most)
    throw std::runtime_error(path + " would be larger than 1 MiB, the most that a kernel's file may have");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream now;
  now << in.rdbuf();
  const bool same = !there || now.str() == before;
  if (there && access(path.c_str(), W_OK) != 0) throw std::runtime_error(path + " may not be written");
  if (same) {
    write_file_safely(path, text);
    if (watch_) watch_->watch(path);  // it is known
  }
  read_again(path);
  return same;
}

void Workbench::read_again(const std::string& path) {
  try {
    bring_file(path, files_[path].device);
  } catch (const InputError& e) {
    files_[path].trouble = e.what();
    files_[path].errors.clear();
    std::error_code none;
    files_[path].gone = !std::filesystem::exists(path, none);
    link_.note(e.what(), LogLine::Kind::trouble);
    if (file_came_) file_came_(path, e.what());
  }
}

void Workbench::took_file(const std::string& path, uint64_t serial, bool again, Answer answer) {
  OpenedFile& file = files_[path];
  if (file.serial != serial) return;  // a newer one is on its way
  file.compiling = false;
  file.waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - file.since).count();
  link_.note(fmt::format("{}  {}", time_of_day(file.waited), path), LogLine::Kind::heading);
  if (std::exchange(machine_code_cut_, false)) machine_code_key_.clear(), machine_code_waiting_ = false;
  auto of_file = [&](const std::string& kernel) { return kernel == path || kernel.starts_with(path + ":"); };
  if (answer.kind == Answer::Kind::result) {
    const json j = json::parse(answer.header);
    if (!file.gone) file.trouble.clear();
    file.errors.clear();
    file.ever = true, file.compiled = file.texts;
    file.seconds = j.value("compiled_in_s", 0.0);
    std::erase_if(kernels_, [&](const KernelEntry& k) { return of_file(k.name); });
    for (const auto& k : j.at("kernels")) kernels_.push_back(kernel_entry(k));
    if (!again) {  // what is known of the text before it is of another kernel
      std::erase_if(sources_, [&](const auto& s) { return of_file(s.first); });
      // By what was asked, which names the kernel: of this file, or of one of several in it. What is on its way is of
      // the text before as well.
      std::string asked = json(path).dump();
      asked.pop_back();
      if (machine_code_key_.find(asked) != machine_code_key_.npos)
        machine_code_.reset(), machine_code_key_.clear(), machine_code_waiting_ = false;
      std::erase_if(trail_, [&](const auto& p) { return of_file(p->document.kernel); });
      if (comparison_ && of_file(comparison_->document.kernel)) comparison_.reset();
      if (of_file(monitor_.document.kernel)) forget_readings();
      const auto& swept = sweeping_.asked.kernels;
      if (of_file(checking_.document.kernel)) stop_checking();
      if (sweeping_.sweep && std::any_of(swept.begin(), swept.end(), of_file)) forget_sweep();
    }
    cause_ends_engine_.erase(path);
    std::istringstream warnings(j.value("warnings", ""));
    for (std::string line; std::getline(warnings, line);) link_.note(line, LogLine::Kind::engine);
    link_.note(file.seconds > 0 ? fmt::format("{} compiled in {:.1f} s", path, file.seconds)
                                : fmt::format("{} was compiled before", path));
  } else {
    file.trouble = answer.kind == Answer::Kind::error ? refusal_of(answer).text : answer.message;
    json j = json::object();
    if (answer.kind == Answer::Kind::error) j = json::parse(answer.header);
    const std::string printed = j.value("log", "");
    file.errors = error_lines(printed, path, file.trouble);
    std::istringstream log(printed);
    for (std::string line; std::getline(log, line);) link_.note(line, LogLine::Kind::engine);
    link_.note(file.trouble, LogLine::Kind::trouble);
    bool listed = false;
    for (const auto& k : kernels_) listed |= of_file(k.name);
    if (!listed) {
      KernelEntry e;
      e.name = e.file = path, e.kind = "outside", e.idea = "has not compiled yet";
      e.available = false, e.reason = file.trouble;
      kernels_.push_back(e);
    }
  }
  if (file_came_) file_came_(path, file.trouble);
}

const OpenedFile* Workbench::file_of(const std::string& kernel) const {
  auto it = files_.find(file_of_kernel(kernel));
  return it == files_.end() ? nullptr : &it->second;
}

}  // namespace convscope
