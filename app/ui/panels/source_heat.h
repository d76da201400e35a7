// Which source lines ask most of memory: what the panel of the source draws beside its lines.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "app/model/profile.h"
#include "app/ui/theme.h"

namespace convscope::ui {

// What the heat is a share of: one counter of a line or the sum of two, or samples of warps, of one stall reason or
// all.
struct HeatMeasure {
  std::string name, label, about;
  std::array<const char*, 2> counters{"", ""};
  bool sampled = false;
  std::string reason{};  // of samples: the stall reason's name; "": all
};
// What this profile has: sampled ones first, then what the emulator counts. Without one, the latter.
std::vector<HeatMeasure> heat_measures(const Profile* p);

struct HeatLine {
  double share = 0;        // of the measure's sum over all lines, 0 … 1
  std::string about, csv;  // every counter of the line, in words; its row of a table
};

struct Heat {
  std::map<int, HeatLine> lines;  // of this file, by line from 0
  double elsewhere = 0;           // share in other files, and where the line is not known
  int hottest = -1;               // line, from 0
  std::string columns;            // of the lines' csv; "": every counter
  std::string csv() const;
};

// The lines of `file` (its name without folders decides) in a profile.
Heat heat_of(const Profile& p, const std::string& file, const HeatMeasure& measure);

// The hottest line of some files, from 0 (-1: there is none), and each one's share, by names without folders.
struct HeatOfFiles {
  std::map<std::string, double> shares;
  std::string hottest_file;
  int hottest = -1;
};
HeatOfFiles heat_of_files(const Profile& p, const HeatMeasure& measure, const std::vector<std::string>& files);

// A bar and a share, in the gutter beside a line. `width`, `height` in pixels.
void draw_heat(const Theme& t, const HeatLine& line, float width, float height);

}  // namespace convscope::ui
