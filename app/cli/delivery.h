// Where a verb's answer goes, and in what form: --format, --out and --json.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "app/cli/out_file.h"

namespace convscope {

class Delivery {
 public:
  // `formats`: what --format may be. Errors: InputError, before anything is computed.
  Delivery(const CommonOptions& common, const std::string& format, const std::string& out,
           const std::vector<std::string>& formats);
  const std::string& format() const { return format_; }
  void deliver(const std::string& text, const nlohmann::json& document);

 private:
  bool as_json_;
  std::string format_;
  std::optional<OutFile> file_;
};

std::string json_text(const nlohmann::json& j);  // as a file has it

}  // namespace convscope
