#include "app/model/opened_files.h"

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

void OpenedFiles::bring(const std::string& path, const std::string& device) {
  std::string text = read_kernel_file(path);
  OpenedFile& file = files_[path];
  const bool was_gone = std::exchange(file.gone, false);
  const bool again = file.text == text;  // for another device
  if (again && file.device == device && !file.compiling && !was_gone) {
    if (file.trouble.empty() && came_) came_(path, "");
    return;
  }
  if (!again && file.compiling) link_.cancel(file.request);
  if (!again && news_.text) news_.text(path);
  file.text = text;
  file.texts += !again;
  file.compiling = true;
  file.since = std::chrono::steady_clock::now();
  if (!watch_)
    watch_ = std::make_unique<FileWatch>(
        [this](const std::string& changed) { link_.deliver([this, changed] { read_again(changed); }); });
  if (file.device.empty()) watch_->watch(path);
  file.device = device;
  const uint64_t serial = ++file.serial;
  file.request = link_.lend(path, kernel_file_request(path, device), as_payload(text),
                            [this, path, serial, again](Answer a) { took(path, serial, again, std::move(a)); });
}

bool OpenedFiles::rewrite(const std::string& path, const std::string& text, const std::string& before) {
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

void OpenedFiles::read_again(const std::string& path) {
  try {
    bring(path, files_[path].device);
  } catch (const InputError& e) {
    files_[path].trouble = e.what();
    files_[path].errors.clear();
    std::error_code none;
    files_[path].gone = !std::filesystem::exists(path, none);
    link_.note(e.what(), LogLine::Kind::trouble);
    if (came_) came_(path, e.what());
  }
}

void OpenedFiles::took(const std::string& path, uint64_t serial, bool again, Answer answer) {
  OpenedFile& file = files_[path];
  if (file.serial != serial) return;  // a newer one is on its way
  file.compiling = false;
  file.waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - file.since).count();
  link_.note(fmt::format("{}  {}", time_of_day(file.waited), path), LogLine::Kind::heading);
  if (news_.answer) news_.answer(path);
  if (answer.kind == Answer::Kind::result)
    took_kernels(path, file, again, json::parse(answer.header));
  else
    took_trouble(path, file, answer);
  if (came_) came_(path, file.trouble);
}

void OpenedFiles::took_kernels(const std::string& path, OpenedFile& file, bool again, const json& answer) {
  if (!file.gone) file.trouble.clear();
  file.errors.clear();
  file.ever = true, file.compiled = file.texts;
  file.seconds = answer.value("compiled_in_s", 0.0);
  inventory_.take_file(path, answer);
  if (news_.kernel) news_.kernel(path, again);
  std::istringstream warnings(answer.value("warnings", ""));
  for (std::string line; std::getline(warnings, line);) link_.note(line, LogLine::Kind::engine);
  link_.note(file.seconds > 0 ? fmt::format("{} compiled in {:.1f} s", path, file.seconds)
                              : fmt::format("{} was compiled before", path));
}

void OpenedFiles::took_trouble(const std::string& path, OpenedFile& file, const Answer& answer) {
  const bool refused = answer.kind == Answer::Kind::error;
  file.trouble = refused ? refusal_of(answer).text : answer.message;
  const std::string printed = (refused ? json::parse(answer.header) : json::object()).value("log", "");
  file.errors = error_lines(printed, path, file.trouble);
  std::istringstream log(printed);
  for (std::string line; std::getline(log, line);) link_.note(line, LogLine::Kind::engine);
  link_.note(file.trouble, LogLine::Kind::trouble);
  inventory_.take_trouble(path, file.trouble);
}

const OpenedFile* OpenedFiles::of(const std::string& kernel) const {
  auto it = files_.find(file_of_kernel(kernel));
  return it == files_.end() ? nullptr : &it->second;
}

}  // namespace convscope
