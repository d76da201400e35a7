#include <cstdio>
#include <fmt/format.h>

#include "app/cli/recorded.h"
#include "app/cli/session.h"
#include "app/cli/verbs.h"
#include "app/engine/json_fields.h"
#include "kernels/base/text.h"

namespace convscope {
using json_fields::text;
using nlohmann::json;

int verb_list(const CommonOptions& common, const std::string& what) {
  if (what == "recordings") {
    json list = recordings_json();
    if (common.json)
      print_json(list);
    else
      std::fputs(recordings_text(list).c_str(), stdout);
    return 0;
  }
  if (what != "kernels" && what != "presets" && what != "references" && what != "devices")
    throw InputError("list", what, "must be kernels, presets, references, devices or recordings");
  Session session(common);
  json r = session.ask({{"type", "list"}, {"what", what}, {"device", common.device}}).header;
  for (const char* own : {"id", "type"}) r.erase(own);
  if (common.json) {
    print_json(r);
    return 0;
  }
  for (const auto& j : r.front()) {
    if (what == "kernels") {
      fmt::print("{:<14} {:<9} {}{}\n", text(j, "name"), text(j, "kind"), text(j, "idea"),
                 j["available"].get<bool>() ? "" : " [not here: " + text(j, "reason") + "]");
    } else if (what == "presets") {
      ConvProblem p = problem_from(j["problem"]);
      fmt::print("{:<21} {:<52} {:>8.2f} GFLOP {:>9}\n", text(j, "name"), describe(p), j["flops"].get<double>() / 1e9,
                 bytes_text(j["least_bytes"].get<uint64_t>()));
    } else if (what == "references") {
      fmt::print("{:<11} {}{}\n", text(j, "name"), text(j, "idea"),
                 j["available"].get<bool>() ? (text(j, "version").empty() ? "" : " (" + text(j, "version") + ")")
                                            : " [not here: " + text(j, "reason") + "]");
    } else {
      fmt::print("{:<9} {} ({}), {}\n",
                 j["kind"] == "cuda" ? fmt::format("cuda:{}", j["index"].get<int>()) : "emulator", text(j, "name"),
                 text(j, "architecture"), bytes_text(j["memory_bytes"].get<uint64_t>()));
    }
  }
  return 0;
}

int verb_info(const CommonOptions& common) {
  Session session(common);
  // It is about all devices; one that is named must be there all the same.
  if (common.device != "auto") session.ask({{"type", "list"}, {"what", "kernels"}, {"device", common.device}});
  json r = session.ask({{"type", "info"}}).header;
  for (const char* own : {"id", "type"}) r.erase(own);
  if (common.json) {
    print_json(r);
    return 0;
  }
  fmt::print("convscope {}\n\nDevices\n", text(r, "convscope"));
  for (const auto& d : r["devices"])
    fmt::print("  {:<9} {} ({}), {}{}\n",
               d["kind"] == "cuda" ? fmt::format("cuda:{}", d["index"].get<int>()) : "emulator", text(d, "name"),
               text(d, "architecture"), bytes_text(d["memory_bytes"].get<uint64_t>()),
               text(d, "driver").empty() ? "" : ", driver " + text(d, "driver"));
  for (const auto& d : r["devices"])
    if (d.contains("ceilings")) fmt::print("\nCeilings of {}\n{}", text(d, "name"), ceilings_text(d["ceilings"]));
  fmt::print("\nPieces\n");
  for (const auto& p : r["pieces"]) {
    fmt::print("  {} {:<22} {}\n", p["available"].get<bool>() ? "✓" : "✗", text(p, "name"), text(p, "detail"));
    if (!p["available"].get<bool>())
      fmt::print("    {:<22} without it: {}\n    {:<22} to get it: {}\n", "", text(p, "without_it"), "",
                 text(p, "how_to_get_it"));
  }
  return 0;
}

}  // namespace convscope
