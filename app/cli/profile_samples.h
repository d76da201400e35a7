// What was sampled, of a profile's answer: as tables, as rows, as events of a trace.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace convscope {

// Of a profile's whole answer. "" where nothing was asked for.
std::string samples_text(const nlohmann::json& profile);
std::string timeline_text(const nlohmann::json& profile);
// Rows of section, name, value, unit, source.
std::vector<std::vector<std::string>> samples_rows(const nlohmann::json& profile);
// Events of a process of its own: its launches, and a counter's track for each lane.
void add_timeline_events(const nlohmann::json& profile, nlohmann::json& events);

}  // namespace convscope
