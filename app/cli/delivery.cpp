#include "app/cli/delivery.h"

#include <cstdio>

#include "app/cli/session.h"

namespace convscope {
using nlohmann::json;

Delivery::Delivery(const CommonOptions& common, const std::string& format, const std::string& out,
                   const std::vector<std::string>& formats)
    : as_json_(common.json), format_(format) {
  if (format_.empty()) format_ = as_json_ ? "json" : "table";
  require_one_of("format", format_, formats);
  // Into a file any form may go; stdout then still is one document.
  if (as_json_ && format_ != "json" && out.empty())
    throw InputError("format", format_, "cannot be on stdout together with --json: name a file with --out");
  if (out.empty()) return;
  require_no_folder("out", out);
  file_.emplace("out", out);
}

void Delivery::deliver(const std::string& text, const json& document) {
  if (file_) {
    file_->write(text);
    file_->finish();
  } else if (format_ != "json") {
    std::fputs(text.c_str(), stdout);
  }
  if (as_json_ || (!file_ && format_ == "json")) print_json(document);
}

std::string json_text(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace convscope
