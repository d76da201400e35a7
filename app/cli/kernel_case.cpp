#include "app/cli/kernel_case.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "app/cli/pictures.h"
#include "app/engine/json_fields.h"
#include "app/png/png.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr int map_width = 720, zoom_columns = 60, zoom_rows = 8, zoom_pixels = 12, plot_positions = 64;

struct MapKind {
  const char* quantity;
  const char* caption;
  MapStyle::Colours colours;
};
constexpr MapKind maps[] = {{"output", "what the kernel wrote", MapStyle::Colours::values},
                            {"reference", "what it should have written (oracle)", MapStyle::Colours::values},
                            {"ratio", "error / bound: orange to red is wrong", MapStyle::Colours::bound_ratio}};

// Of a result: rows are channels, of one sequence after the other; columns are positions.
struct Window {
  int64_t row0 = 0, rows = 0, column0 = 0, columns = 0;
};

std::vector<Cell> cells_of(Session& session, const std::string& result, const char* quantity, const Window& w,
                           int width, int height) {
  auto r = session.ask({{"type", "tile"},
                        {"result", result},
                        {"quantity", quantity},
                        {"window",
                         {static_cast<double>(w.row0), static_cast<double>(w.row0 + w.rows),
                          static_cast<double>(w.column0), static_cast<double>(w.column0 + w.columns)}},
                        {"size", {width, height}}});
  std::vector<Cell> cells(r.payload.size() / sizeof(Cell));
  std::memcpy(cells.data(), r.payload.data(), cells.size() * sizeof(Cell));
  if (std::string_view(quantity) == "reference") keep_flags_of_reference(cells);
  return cells;
}

// Where the first failing element is, else the start: [row, column].
std::pair<int64_t, int64_t> place_of(const KernelCase& c, const ConvProblem& p) {
  const json& first = c.report["error"]["first_failing"];
  if (!first.is_object()) return {0, 0};
  return {first["n"].get<int64_t>() * p.out_channels + first["co"].get<int64_t>(), first["j"].get<int64_t>()};
}

// One channel: around that element.
void plot(Session& session, KernelCase& c, const ConvProblem& p, const std::string& result) {
  const auto [row, at] = place_of(c, p);
  int64_t n = std::min<int64_t>(plot_positions, p.out_length()),
          from = std::clamp<int64_t>(at - n / 4, 0, p.out_length() - n);
  auto r = session.ask({{"type", "numbers"}, {"result", result}, {"window", {row, row + 1, from, from + n}}});
  std::vector<double> v(r.payload.size() / sizeof(double));
  std::memcpy(v.data(), r.payload.data(), v.size() * sizeof(double));
  Line kernel{"kernel", "kernel", {}}, oracle{"oracle", "oracle", {}}, error{"error", "error", {}};
  for (size_t i = 0; i + 3 < v.size(); i += 4)
    kernel.values.push_back(v[i]), oracle.values.push_back(v[i + 1]), error.values.push_back(v[i + 2]);
  c.plot_caption = fmt::format("channel {}, sequence {}, positions {}–{}", row % p.out_channels, row / p.out_channels,
                               from, from + n - 1);
  c.plot = plot_lines({oracle, kernel}, from, "value", 720, 200);
  c.error_plot = plot_lines({error}, from, "error", 720, 120);
}

}  // namespace

void draw_case(Session& session, KernelCase& c, const ConvProblem& p) {
  const std::string result = c.report["result"];
  const Window all{0, p.batch * p.out_channels, 0, p.out_length()};
  const auto [row, column] = place_of(c, p);
  Window near{0, std::min<int64_t>(zoom_rows, all.rows), 0, std::min<int64_t>(zoom_columns, all.columns)};
  near.row0 = std::clamp<int64_t>(row - near.rows / 4, 0, all.rows - near.rows);
  near.column0 = std::clamp<int64_t>(column - near.columns / 4, 0, all.columns - near.columns);
  const int width = static_cast<int>(std::min<int64_t>(map_width, all.columns)),
            height = static_cast<int>(std::min<int64_t>(all.rows, 128));
  // Kernel and oracle share one scale, the oracle's, so that they can be compared by eye.
  auto reference = cells_of(session, result, "reference", all, width, height);
  double low = 1e300, high = -1e300;
  for (const Cell& cell : reference)
    if (cell.minimum <= cell.maximum)
      low = std::min<double>(low, cell.minimum), high = std::max<double>(high, cell.maximum);
  if (!(low <= high)) low = 0, high = 1;
  for (const auto& m : maps) {
    MapStyle style{m.colours, low, high, 1};
    const bool ratio = m.colours == MapStyle::Colours::bound_ratio;
    auto add = [&](const std::string& caption, const char* suffix, const Image& image) {
      CasePicture picture;
      picture.caption = caption;
      picture.file = fmt::format("{}-{}-{}{}.png", c.kernel, c.problem, ratio ? "error" : m.quantity, suffix);
      picture.png = png_bytes(image.rgb, image.width, image.height);
      picture.gradient = css_gradient(m.colours);
      picture.low = ratio ? "1e-4 of the bound" : number_text(low);
      picture.high = ratio ? "a million times and more; orange begins at the bound" : number_text(high);
      c.pictures.push_back(std::move(picture));
    };
    const auto whole = std::string_view(m.quantity) == "reference"
                           ? reference
                           : cells_of(session, result, m.quantity, all, width, height);
    add(fmt::format("{}; all {} rows × {} positions", m.caption, grouped(all.rows), grouped(all.columns)), "",
        draw_map(whole, width, height, style));
    style.zoom = zoom_pixels;
    const auto rows = static_cast<int>(near.rows), columns = static_cast<int>(near.columns);
    add(fmt::format("close up: {} {}–{}, positions {}–{}", p.batch == 1 ? "channels" : "rows", near.row0,
                    near.row0 + near.rows - 1, near.column0, near.column0 + near.columns - 1),
        "-zoom", draw_map(cells_of(session, result, m.quantity, near, columns, rows), columns, rows, style));
  }
  plot(session, c, p, result);
}

void explain_case(Session& session, KernelCase& c, const RunRequest& asked) {
  RunRequest r = asked;
  r.kernel = c.kernel;  // which auto has chosen
  std::vector<std::byte> payload;
  json header = request_json(r, payload);
  if (const json& first = json_fields::part(c.report["error"], "first_failing"); first.contains("j")) {
    header["at"] = {first["n"], first["co"], first["j"]};
    try {
      header["type"] = "explain";
      c.explanation = session.ask(header, payload, "explain " + c.kernel).header.value("explanation", json());
      header["type"] = "trace";
      c.stray_reads =
          session.ask(header, std::move(payload), "trace " + c.kernel).header.value("stray_reads", json::array());
    } catch (const EngineError& e) {  // it may crash there, or not be traced; the verdict stands
      if (e.error().value("code", "") == "cancelled") throw;
    }
  }
  try {
    const json source = session.ask({{"type", "source"}, {"kernel", c.kernel}}).header;
    c.source_file = json_fields::text(source, "file"), c.source_text = json_fields::text(source, "text");
  } catch (const EngineError& e) {
    if (e.error().value("code", "") == "cancelled") throw;
  }
}

}  // namespace convscope
