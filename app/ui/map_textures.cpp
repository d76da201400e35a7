#include "app/ui/map_textures.h"

#include <cstring>
#include <imgui_internal.h>

namespace convscope::ui {

MapTextures::~MapTextures() { release_all(); }

ImTextureRef MapTextures::texture(Pictures::Map map, const MapTile& tile) {
  Slot& slot = slots_[static_cast<size_t>(map)];
  if (slot.serial != tile.serial || !slot.data) {
    if (slot.data) {
      slot.data->WantDestroyNextFrame = true;
      retired_.push_back(std::move(slot.data));
    }
    slot.data = std::make_unique<ImTextureData>();
    slot.data->Create(ImTextureFormat_RGBA32, tile.width, tile.height);
    std::memcpy(slot.data->GetPixels(), tile.pixels.data(), tile.pixels.size() * sizeof(uint32_t));
    slot.data->UseColors = true;
    slot.data->SetStatus(ImTextureStatus_WantCreate);
    ImGui::RegisterUserTexture(slot.data.get());
    slot.serial = tile.serial;
  }
  return slot.data->GetTexRef();
}

void MapTextures::collect() {
  std::erase_if(retired_, [](const std::unique_ptr<ImTextureData>& t) {
    if (t->Status != ImTextureStatus_Destroyed) return false;
    ImGui::UnregisterUserTexture(t.get());
    return true;
  });
}

void MapTextures::release_all() {
  for (auto& slot : slots_)
    if (slot.data) retired_.push_back(std::move(slot.data));
  if (ImGui::GetCurrentContext())
    for (auto& t : retired_) {
      ImGui::UnregisterUserTexture(t.get());
      ImGui::GetPlatformIO().Textures.find_erase(t.get());  // a backend that ends looks through them
    }
  retired_.clear();
}

}  // namespace convscope::ui
