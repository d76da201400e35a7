// Windows of results as cells and colours: what the maps show.
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/model/requests.h"
#include "app/model/workbench.h"

namespace convscope {
using nlohmann::json;
using Clock = std::chrono::steady_clock;

bool TileWish::same_cells(const TileWish& other) const {
  TileWish painted = other;
  painted.paint = paint;
  return *this == painted;
}

// In the colours that are wished for by now. Dragging the end of a colour bar comes here with every frame.
void Workbench::repaint(size_t map) {
  const std::shared_ptr<const MapTile>& have = tiles_[map];
  const TileWish& wish = tile_wishes_[map];
  if (!have || have->paint == wish.paint || !wish.same_cells(*have)) return;
  auto t = std::make_shared<MapTile>(*have);
  t->paint = wish.paint;
  t->pixels = paint_cells(t->cells, t->width, t->paint);
  t->serial = ++tile_serial_;
  tiles_[map] = t;
}

void Workbench::want_tile(Map map, const TileWish& wish) {
  auto i = static_cast<size_t>(map);
  TileWish& now = tile_wishes_[i];
  if (wish == now || wish.width < 1 || wish.height < 1) return;
  // Colours are none of the engine's business: what is here gets others, what is on its way gets them when it comes.
  const bool same_cells = wish.same_cells(now);
  now = wish;
  if (same_cells) return repaint(i);
  json header = {{"type", "tile"},
                 {"result", wish.key},
                 {"quantity", quantity_names[static_cast<int>(wish.quantity)]},
                 {"window", {wish.row0, wish.row1, wish.column0, wish.column1}},
                 {"size", {wish.width, wish.height}}};
  auto posted = Clock::now();
  auto paint = [this, i, wish, posted, asked_at = report_serial_](Answer a) -> std::function<void()> {
    std::shared_ptr<MapTile> t;
    if (a.kind == Answer::Kind::result &&
        a.payload.size() == static_cast<size_t>(wish.width) * static_cast<size_t>(wish.height) * sizeof(Cell)) {
      t = std::make_shared<MapTile>();
      static_cast<TileWish&>(*t) = wish;
      t->cells.resize(a.payload.size() / sizeof(Cell));
      std::memcpy(t->cells.data(), a.payload.data(), a.payload.size());
      if (wish.quantity == Quantity::reference) keep_flags_of_reference(t->cells);
      t->pixels = paint_cells(t->cells, t->width, wish.paint);
      t->latency_ms = std::chrono::duration<double, std::milli>(Clock::now() - posted).count();
    }
    return [this, i, t, kind = a.kind, gone = is_gone(a), message = a.message, wish, asked_at] {
      link_.see_death(kind, message);
      if (!t) {
        if (tile_wishes_[i].same_cells(wish))
          refused(asked_at, gone, [this, i, wish] {
            if (tile_wishes_[i].same_cells(wish)) tile_wishes_[i] = {};
          });
        return;
      }
      t->serial = ++tile_serial_;
      tiles_[i] = t;
      if (tile_wishes_[i].same_cells(wish)) repaint(i);
    };
  };
  link_.ask_prepared("tile" + std::to_string(i), header, std::move(paint));
}

}  // namespace convscope
