// What is kept between starts: theme, scale, recent files. In the user's configuration folder, with a version.
#pragma once
#include <string>
#include <vector>

namespace convscope {

struct Settings {
  enum class Theme { dark, light };
  Theme theme = Theme::dark;
  double scale = 1;        // 0.75 to 2, on top of the display's own
  bool presenter = false;  // large type
  bool live = true;
  std::string value_colours = "viridis";  // or cividis
  std::string sweep_over = "stride=1..8";       // kernels/problem/axis.h; may be what a person has half typed
  std::vector<std::string> sweep_with{"auto"};  // kernels and references beside the chosen one
  std::vector<std::string> recent;        // newest first, at most 10
  std::string layout;                     // the docking layout, as Dear ImGui writes it

  bool operator==(const Settings&) const = default;
  void remember(const std::string& path);
};

// $XDG_CONFIG_HOME/convscope, or ~/.config/convscope. Made when it is not there; "" when that is impossible.
std::string settings_folder();

// What a file of settings is to this program. Who cannot read a later version's leaves it to who can; a damaged one
// holds nothing that anybody could read.
enum class KeptSettings { none, read, damaged, later };
KeptSettings read_settings(const std::string& file, Settings& s);  // the defaults, unless it is `read`

// Never fails: what cannot be read is the default, and `note` says why.
Settings load_settings(const std::string& file, std::string& note);
// False when it cannot be written, or when a later version's is there.
bool save_settings(const std::string& file, const Settings& s);

}  // namespace convscope
