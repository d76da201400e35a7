// The ways a request can fail, each with the exit code the command line gives it.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace convscope {

// Bad input: one line that names the field, the value and the rule. Exit code 2.
class InputError : public std::runtime_error {
 public:
  InputError(std::string field, std::string value, std::string rule)
      : std::runtime_error(value.empty() ? field + " " + rule : field + " " + value + " " + rule),
        field_(std::move(field)),
        value_(std::move(value)),
        rule_(std::move(rule)) {}
  const std::string& field() const { return field_; }
  const std::string& value() const { return value_; }
  const std::string& rule() const { return rule_; }

 private:
  std::string field_, value_, rule_;
};

// Hardware or a library that is not there; the sentence says what, and how to get it. Exit code 3.
class MissingError : public std::runtime_error {
 public:
  MissingError(const std::string& what, const std::string& how) : std::runtime_error(what + "; " + how) {}
};

// A file from outside that does not compile: what() is one line, log() all that the compiler printed. Exit code 1.
class CompileError : public std::runtime_error {
 public:
  CompileError(const std::string& what, std::string log) : std::runtime_error(what), log_(std::move(log)) {}
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

// The device refused or broke. A poisoned context cannot be used again: the engine that meets one ends.
class DeviceError : public std::runtime_error {
 public:
  explicit DeviceError(const std::string& what, bool poisoned = false)
      : std::runtime_error(what), poisoned_(poisoned) {}
  bool poisoned() const { return poisoned_; }

 private:
  bool poisoned_;
};

// A kernel broke a rule of the machine it runs on (a barrier not reached by all, an illegal address, …). Exit code 4.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// It used memory that is none of its tensors', by far: whatever device it runs on, this is wrong.
class AccessFault : public KernelFault {
 public:
  using KernelFault::KernelFault;
};

// The person, or a newer request, asked to stop.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace convscope
