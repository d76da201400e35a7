// Tiles as textures, through Dear ImGui's own texture protocol: no graphics call here, so panels also draw with no
// backend.
#pragma once
#include <array>
#include <imgui.h>
#include <memory>
#include <vector>

#include "app/model/pictures.h"

namespace convscope::ui {

class MapTextures {
 public:
  MapTextures() = default;
  ~MapTextures();
  MapTextures(const MapTextures&) = delete;

  // The texture of a tile, made when the tile is new.
  ImTextureRef texture(Pictures::Map map, const MapTile& tile);
  // Frees what the backend has let go of. Once a frame.
  void collect();
  // Before the context goes.
  void release_all();

 private:
  struct Slot {
    std::unique_ptr<ImTextureData> data;
    uint64_t serial = 0;
  };
  std::array<Slot, static_cast<size_t>(Pictures::Map::count)> slots_;
  std::vector<std::unique_ptr<ImTextureData>> retired_;
};

}  // namespace convscope::ui
