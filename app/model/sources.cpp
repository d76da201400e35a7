#include "app/model/sources.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/engine/json_fields.h"
#include "app/model/kernel_file.h"
#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;

void Sources::want(const std::string& kernel) {
  if (kernel.empty()) return;
  SourceWish& wish = sources_[kernel];
  if (wish.waiting || !wish.files.empty() || wish.starts == link_.status().starts) return;
  wish.waiting = true, wish.starts = link_.status().starts;
  link_.ask("", {{"type", "source"}, {"kernel", kernel}}, [this, kernel](Answer a) {
    SourceWish& answered = sources_[kernel];
    answered.waiting = false;
    if (a.kind == Answer::Kind::error) answered.files = {{"", "// " + refusal_of(a).text}};
    if (a.kind != Answer::Kind::result) return;
    const json j = json::parse(a.header);
    auto add = [&](const json& f) { answered.files.push_back({f.value("file", ""), f.value("text", "")}); };
    add(j);
    for (const json& header : j.value("headers", json::array())) add(header);
  });
}

const std::vector<SourceText>* Sources::of(const std::string& kernel) const {
  auto it = sources_.find(kernel);
  return it == sources_.end() || it->second.files.empty() ? nullptr : &it->second.files;
}

// ---- machine code: one at a time, each document once ----------------------------------------------------------------

void Sources::want_machine_code(const Document& document) {
  using json_fields::text;
  if (document.kernel.empty()) return;
  RunRequest r;  // inputs do not change the code
  r.kernel = document.kernel, r.problem = document.problem;
  r.device = document.device, r.accuracy = document.accuracy;
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  header["type"] = "disassembly";
  std::string key = header.dump() + std::to_string(link_.status().starts);
  if (key == machine_code_key_) return;
  machine_code_key_ = key;
  machine_code_waiting_ = true;
  machine_code_id_ = link_.ask("disassembly", header, [this, key](Answer a) {
    if (key != machine_code_key_ || machine_code_cut_) return;
    machine_code_waiting_ = false;
    MachineCode m;
    json answer = json::parse(a.header, nullptr, false);
    if (a.kind == Answer::Kind::result && answer.is_object())
      m = machine_code_from(answer);
    else
      m.reason = answer.is_object() && answer.contains("rule")
                     ? text(answer, "field") + " " + text(answer, "value") + " " + text(answer, "rule")
                 : answer.is_object() && answer.contains("message") ? text(answer, "message")
                                                                    : a.message;
    machine_code_ = std::make_shared<MachineCode>(std::move(m));
  });
}

void Sources::stop_for_new_text() {
  if (machine_code_waiting_) link_.cancel(machine_code_id_), machine_code_cut_ = true;
}

void Sources::go_on() {
  if (std::exchange(machine_code_cut_, false)) machine_code_key_.clear(), machine_code_waiting_ = false;
}

void Sources::forget_file(const std::string& path) {
  std::erase_if(sources_, [&](const auto& s) { return is_of_file(s.first, path); });
  // By what was asked, which names the kernel: of this file, or of one of several in it. What is on its way is of the
  // text before as well.
  std::string asked = json(path).dump();
  asked.pop_back();
  if (machine_code_key_.find(asked) != machine_code_key_.npos)
    machine_code_.reset(), machine_code_key_.clear(), machine_code_waiting_ = false;
}

}  // namespace convscope
