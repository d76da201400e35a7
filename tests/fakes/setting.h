// Environment variables, for as long as the object lives; then they are what they were.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace convscope::test {

class Setting {
 public:
  Setting(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = getenv(name_.c_str())) before_ = before;
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Setting() {
    if (before_)
      setenv(name_.c_str(), before_->c_str(), 1);
    else
      unsetenv(name_.c_str());
  }
  Setting(const Setting&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

// The folder of the fake libraries: beside the test programs.
std::string fakes_folder();

}  // namespace convscope::test
