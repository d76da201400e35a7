#include "app/model/pictures.h"

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/model/requests.h"

namespace convscope {
using nlohmann::json;
namespace {

std::shared_ptr<NumberBlock> block_from(const Answer& a, const std::string& key, const std::array<int64_t, 4>& window) {
  auto b = std::make_shared<NumberBlock>();
  b->key = key;
  b->row0 = window[0], b->row1 = window[1], b->column0 = window[2], b->column1 = window[3];
  auto count = static_cast<size_t>((window[1] - window[0]) * (window[3] - window[2]) * 4);
  if (a.kind != Answer::Kind::result || a.payload.size() != count * sizeof(double)) return nullptr;
  b->values.resize(count);
  std::memcpy(b->values.data(), a.payload.data(), a.payload.size());
  return b;
}

}  // namespace

Pictures::Pictures(EngineLink& link, Runs& runs) : link_(link), runs_(runs) {
  link_.on_death([this] { forget_wishes(); });
}

// They are sent again for the next result.
void Pictures::forget_wishes() {
  for (auto& w : tile_wishes_) w = {};
  numbers_.key.clear(), hover_.key.clear(), statistics_key_.clear();
}

bool TileWish::same_cells(const TileWish& other) const {
  TileWish painted = other;
  painted.paint = paint;
  return *this == painted;
}

// In the colours that are wished for by now. Dragging the end of a colour bar comes here with every frame.
void Pictures::repaint(size_t map) {
  const std::shared_ptr<const MapTile>& have = tiles_[map];
  const TileWish& wish = tile_wishes_[map];
  if (!have || have->paint == wish.paint || !wish.same_cells(*have)) return;
  auto t = std::make_shared<MapTile>(*have);
  t->paint = wish.paint;
  t->pixels = paint_cells(t->cells, t->width, t->paint);
  t->serial = ++tile_serial_;
  tiles_[map] = t;
}

void Pictures::want_tile(Map map, const TileWish& wish) {
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
  auto posted = std::chrono::steady_clock::now();
  auto paint = [this, i, wish, posted, asked_at = runs_.reports()](Answer a) -> std::function<void()> {
    std::shared_ptr<MapTile> t;
    if (a.kind == Answer::Kind::result &&
        a.payload.size() == static_cast<size_t>(wish.width) * static_cast<size_t>(wish.height) * sizeof(Cell)) {
      t = std::make_shared<MapTile>();
      static_cast<TileWish&>(*t) = wish;
      t->cells.resize(a.payload.size() / sizeof(Cell));
      std::memcpy(t->cells.data(), a.payload.data(), a.payload.size());
      if (wish.quantity == Quantity::reference) keep_flags_of_reference(t->cells);
      t->pixels = paint_cells(t->cells, t->width, wish.paint);
      t->latency_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - posted).count();
    }
    return [this, i, t, kind = a.kind, gone = is_gone(a), message = a.message, wish, asked_at] {
      link_.see_death(kind, message);
      if (!t) {
        if (tile_wishes_[i].same_cells(wish))
          runs_.ask_again(asked_at, gone, [this, i, wish] {
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

// Asked for once, and again with the next result where it was refused.
void Pictures::want_values(const char* slot, Values& values, const std::string& key,
                           const std::array<int64_t, 4>& window) {
  if (values.key == key && window == values.window) return;
  values.key = key, values.window = window;
  const json header = {{"type", "numbers"}, {"result", key}, {"window", window}};
  link_.ask(slot, header, [this, &values, key, window, asked_at = runs_.reports()](Answer a) {
    if (auto b = block_from(a, key, window))
      values.block = b;
    else if (values.key == key && values.window == window)
      runs_.ask_again(asked_at, is_gone(a), [&values] { values.key.clear(); });
  });
}

void Pictures::want_numbers(const std::string& key, int64_t row0, int64_t row1, int64_t column0, int64_t column1) {
  if (!runs_.picture() || (row1 - row0) * (column1 - column0) > most_numbers || row1 <= row0 || column1 <= column0)
    return;
  want_values("numbers", numbers_, key, {row0, row1, column0, column1});
}

void Pictures::want_hover(const std::string& key, ElementIndex at) {
  if (runs_.picture()) want_values("hover", hover_, key, {at.row, at.row + 1, at.column, at.column + 1});
}

void Pictures::fetch_numbers(const std::string& key, const std::array<int64_t, 4>& window,
                             std::function<void(const NumberBlock*)> then) {
  const json header = {{"type", "numbers"}, {"result", key}, {"window", window}};
  link_.ask("values to copy", header, [key, window, then = std::move(then)](Answer a) {
    // Who has asked again waits for that answer.
    if (a.kind == Answer::Kind::error && refusal_of(a).cancelled) return;
    then(block_from(a, key, window).get());
  });
}

void Pictures::find_failing(const std::string& key, ElementIndex from, bool forward,
                            std::function<void(std::optional<ElementIndex>)> then) {
  if (!runs_.picture()) return then({});
  json header = {{"type", "find"}, {"result", key}, {"from", {from.row, from.column}}, {"forward", forward}};
  link_.ask("find", header, [this, then = std::move(then), asked_at = runs_.reports()](Answer a) {
    // No answer is not "none fails": another question has taken its place, or the result is gone.
    if (a.kind != Answer::Kind::result) {
      if (is_gone(a)) runs_.ask_again(asked_at, true, [] {});
      return;
    }
    json j = json::parse(a.header);
    if (!j.contains("place") || !j["place"].is_array() || j["place"].size() != 2) return then({});
    then(ElementIndex{j["place"][0].get<int64_t>(), j["place"][1].get<int64_t>()});
  });
}

void Pictures::want_statistics() {
  const auto picture = runs_.picture();
  if (!picture || !picture->final || runs_.running() || statistics_key_ == picture->key) return;
  statistics_key_ = picture->key;
  json header = {{"type", "statistics"}, {"result", statistics_key_}};
  link_.ask("statistics", header, [this, key = statistics_key_, asked_at = runs_.reports()](Answer a) {
    if (a.kind != Answer::Kind::result) {
      if (statistics_key_ == key) runs_.ask_again(asked_at, is_gone(a), [this] { statistics_key_.clear(); });
      return;
    }
    statistics_ = std::make_shared<Statistics>(statistics_from(json::parse(a.header), key));
  });
}

}  // namespace convscope
