// Environment variables that a fake library reads, for as long as the object lives.
#pragma once
#include <cstdlib>
#include <string>

namespace convscope::test {

class Setting {
 public:
  Setting(std::string name, const std::string& value) : name_(std::move(name)) {
    setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_.c_str()); }
  Setting(const Setting&) = delete;

 private:
  std::string name_;
};

// The folder of the fake libraries: beside the test programs.
std::string fakes_folder();

}  // namespace convscope::test
