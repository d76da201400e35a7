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
// A line of a trace for spans that overlap those of the first one: "stream 7", "stream 7, overlapping".
std::string trace_row(const std::string& name, size_t row);
// Events of a process of its own: its launches, and a counter's track for each lane.
void add_timeline_events(const nlohmann::json& profile, nlohmann::json& events);

}  // namespace convscope
