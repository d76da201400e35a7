// What maps, lines and tooltips show of results that the engine holds: windows of them as cells and colours, as numbers
// and as counts.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/model/engine_link.h"
#include "app/model/paint.h"
#include "app/model/report.h"
#include "app/model/runs.h"
#include "app/model/view.h"

namespace convscope {

// What a tile shall show; two equal wishes need one request.
struct TileWish {
  std::string key;  // of the result
  Quantity quantity = Quantity::output;
  double row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  int width = 0, height = 0;
  Paint paint;
  bool operator==(const TileWish&) const = default;
  bool same_cells(const TileWish& other) const;  // whatever their colours
};

// A window of a result, cut into cells and painted.
struct MapTile : TileWish {
  std::vector<Cell> cells;
  std::vector<uint32_t> pixels;
  uint64_t serial = 0;    // a new one for each tile: textures are made anew when it changes
  double latency_ms = 0;  // from the wish to the picture
};

// Every element of a small window: output, reference, error, |error|/bound.
struct NumberBlock {
  std::string key;
  int64_t row0 = 0, row1 = 0, column0 = 0, column1 = 0;
  std::vector<double> values;  // [row][column][4]
  const double* at(int64_t row, int64_t column) const {
    if (row < row0 || row >= row1 || column < column0 || column >= column1) return nullptr;
    return &values[static_cast<size_t>(((row - row0) * (column1 - column0) + column - column0) * 4)];
  }
};

// The engine answers beside whatever it computes: nobody gives way. Of two questions for the same place the newest
// wins. What the engine had lost is asked again of the next result.
class Pictures {
 public:
  Pictures(EngineLink& link, Runs& runs);

  enum class Map { kernel, reference, difference, minimap, lines_output, lines_reference, lines_error, count };
  void want_tile(Map map, const TileWish& wish);  // other colours alone ask the engine for nothing
  const MapTile* tile(Map map) const { return tiles_[static_cast<size_t>(map)].get(); }

  // key: of the picture's result, which it is where none is given, or of a difference (Beside).
  void want_numbers(const std::string& key, int64_t row0, int64_t row1, int64_t column0, int64_t column1);
  void want_numbers(int64_t row0, int64_t row1, int64_t column0, int64_t column1) {
    want_numbers(runs_.picture_key(), row0, row1, column0, column1);
  }
  const NumberBlock* numbers() const { return numbers_.block.get(); }
  void want_hover(const std::string& key, ElementIndex at);
  void want_hover(ElementIndex at) { want_hover(runs_.picture_key(), at); }
  const NumberBlock* hover() const { return hover_.block.get(); }
  // Values of a window of at most so many elements, asked for once: null when the result is gone.
  static constexpr int64_t most_numbers = 65536;
  void fetch_numbers(const std::string& key, const std::array<int64_t, 4>& window,
                     std::function<void(const NumberBlock*)> then);

  void want_statistics();
  const Statistics* statistics() const { return statistics_.get(); }

  // `then` is called when the engine knows: not when a newer question or the engine's end came between.
  void find_failing(const std::string& key, ElementIndex from, bool forward,
                    std::function<void(std::optional<ElementIndex>)> then);
  void find_failing(ElementIndex from, bool forward, std::function<void(std::optional<ElementIndex>)> then) {
    find_failing(runs_.picture_key(), from, forward, std::move(then));
  }

 private:
  void repaint(size_t map);
  void forget_wishes();

  EngineLink& link_;
  Runs& runs_;
  static constexpr size_t maps = static_cast<size_t>(Map::count);
  std::array<std::shared_ptr<const MapTile>, maps> tiles_;
  std::array<TileWish, maps> tile_wishes_;
  uint64_t tile_serial_ = 0;
  struct Values {
    std::string key;  // of the result that was asked; "": none
    std::array<int64_t, 4> window{};
    std::shared_ptr<const NumberBlock> block;  // the newest that came
  };
  void want_values(const char* slot, Values& values, const std::string& key, const std::array<int64_t, 4>& window);
  Values numbers_, hover_;
  std::string statistics_key_;
  std::shared_ptr<const Statistics> statistics_;
};

}  // namespace convscope
