// The guided tour: every kernel on problems that suit the device, as a table and as a report with pictures.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace convscope {

struct DemoPicture {
  std::string caption, file, png, gradient, low, high;  // gradient: CSS; low, high: what its ends mean
};

struct DemoCase {
  std::string kernel, kind, idea, preset;
  std::string type;  // of the elements, " (f16)"; "": f32
  bool expected_right = true, as_expected = true;
  nlohmann::json report;
  std::vector<DemoPicture> pictures;
  std::string plot, error_plot, plot_caption;  // SVG
  std::string map_note;
};

// One self-contained HTML file.
std::string demo_html(const std::vector<DemoCase>& cases, const std::string& device, bool emulated, double seconds,
                      bool interrupted);

}  // namespace convscope
