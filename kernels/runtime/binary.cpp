#include "kernels/runtime/binary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "kernels/base/text.h"

namespace convscope {
namespace {

// Reads of a fixed layout, each within bounds or nothing.
class Bytes {
 public:
  explicit Bytes(std::string_view all) : all_(all) {}
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (offset > all_.size() || all_.size() - offset < sizeof(T)) return {};
    T v;
    std::memcpy(&v, all_.data() + offset, sizeof v);
    return v;
  }
  std::string_view part(uint64_t offset, uint64_t size) const {
    return offset <= all_.size() && size <= all_.size() - offset ? all_.substr(offset, size) : std::string_view();
  }
  std::string text(uint64_t offset) const {
    if (offset >= all_.size()) return "";
    std::string_view rest = all_.substr(offset);
    return std::string(rest.substr(0, std::min(rest.find('\0'), rest.size())));
  }
  size_t size() const { return all_.size(); }

 private:
  std::string_view all_;
};

// As elf.h has it; only the fields that are read.
struct Section {
  uint32_t name = 0, link = 0;
  uint64_t offset = 0, size = 0;
};

std::vector<Section> sections_of(const Bytes& elf) {
  std::vector<Section> list;
  auto table = elf.at<uint64_t>(40);
  auto entry = elf.at<uint16_t>(58), count = elf.at<uint16_t>(60);
  if (!table || !entry || !count || *entry < 64) return list;
  for (uint64_t i = 0; i < *count; i++) {
    uint64_t at = *table + i * *entry;
    auto name = elf.at<uint32_t>(at), link = elf.at<uint32_t>(at + 40);
    auto offset = elf.at<uint64_t>(at + 24), size = elf.at<uint64_t>(at + 32);
    if (!name || !link || !offset || !size) return list;
    list.push_back({*name, *link, *offset, *size});
  }
  return list;
}

std::string_view section_named(const Bytes& elf, const std::string& wanted) {
  auto sections = sections_of(elf);
  auto names_index = elf.at<uint16_t>(62);
  if (!names_index || *names_index >= sections.size()) return {};
  for (const auto& s : sections)
    if (elf.text(sections[*names_index].offset + s.name) == wanted) return elf.part(s.offset, s.size);
  return {};
}

void facts_of_image(const Bytes& elf, int architecture, std::vector<BinaryFacts>& into) {
  // The attributes of .nv.info: format, attribute, then for format 4 a size and so many bytes: a symbol and a value.
  constexpr uint8_t sized = 4, frame_size = 0x11, register_count = 0x2f;
  // Where an image has a section .nv.shared.reserved.0 (sm_90 and later), what the system keeps for itself in each
  // block is in the size of every kernel's section.
  constexpr int64_t reserved_bytes = 1024;
  auto sections = sections_of(elf);
  auto names_index = elf.at<uint16_t>(62);
  if (!names_index || *names_index >= sections.size()) return;
  const Section& names = sections[*names_index];
  std::map<std::string, BinaryFacts> kernels;
  std::map<std::string, int64_t> shared;
  const Section* symbols = nullptr;
  for (const auto& s : sections)
    if (elf.text(names.offset + s.name) == ".symtab") symbols = &s;
  if (!symbols || symbols->link >= sections.size()) return;
  auto symbol = [&](uint32_t index) -> std::string {
    auto name = elf.at<uint32_t>(symbols->offset + uint64_t{24} * index);
    return name ? elf.text(sections[symbols->link].offset + *name) : "";
  };
  std::map<std::string, int64_t> frames;
  for (const auto& s : sections) {
    std::string name = elf.text(names.offset + s.name);
    if (std::string_view prefix = ".nv.shared."; name.starts_with(prefix))
      shared[name.substr(prefix.size())] = static_cast<int64_t>(std::min<uint64_t>(s.size, INT32_MAX));
    if (name != ".nv.info") continue;
    Bytes info(elf.part(s.offset, s.size));
    for (uint64_t at = 0; at + 4 <= info.size();) {
      auto format = *info.at<uint8_t>(at), attribute = *info.at<uint8_t>(at + 1);
      auto size = *info.at<uint16_t>(at + 2);
      at += 4;
      if (format != sized) continue;
      auto which = info.at<uint32_t>(at), value = info.at<uint32_t>(at + 4);
      at += size;
      if (!which || !value || size < 8) continue;
      if (attribute == register_count) {
        BinaryFacts& f = kernels[symbol(*which)];
        f.registers = static_cast<int>(std::min<uint32_t>(*value, 1024));
      } else if (attribute == frame_size) {
        frames[symbol(*which)] = *value;
      }
    }
  }
  int64_t reserved = shared.contains("reserved.0") ? reserved_bytes : 0;
  for (auto& [name, f] : kernels) {
    if (name.empty()) continue;
    f.entry = name, f.architecture = architecture;
    if (auto it = frames.find(name); it != frames.end()) f.stack_bytes = it->second;
    if (auto it = shared.find(name); it != shared.end())
      f.static_shared_bytes = std::max<int64_t>(0, it->second - reserved);
    into.push_back(f);
  }
}

}  // namespace

std::vector<DeviceImage> device_images(std::string_view fatbin) {
  constexpr uint32_t magic = 0xba55ed50;
  constexpr uint16_t elf_image = 2;
  std::vector<DeviceImage> list;
  Bytes all(fatbin);
  auto word = all.at<uint32_t>(0);
  auto header = all.at<uint16_t>(6);
  if (!word || *word != magic || !header) return list;
  for (uint64_t at = *header; at < all.size();) {
    auto kind = all.at<uint16_t>(at);
    auto own_header = all.at<uint32_t>(at + 4), architecture = all.at<uint32_t>(at + 28);
    auto size = all.at<uint64_t>(at + 8);
    if (!kind || !own_header || !size || !architecture || *own_header < 32) break;
    auto image = all.part(at + *own_header, *size);
    if (*kind == elf_image && image.starts_with("\177ELF"))
      list.push_back({static_cast<int>(std::min<uint32_t>(*architecture, 9999)), image});
    if (*size > all.size()) break;
    at += *own_header + *size;
  }
  return list;
}

std::vector<BinaryFacts> image_facts(const DeviceImage& image) {
  std::vector<BinaryFacts> list;
  facts_of_image(Bytes(image.elf), image.architecture, list);
  return list;
}

std::vector<BinaryFacts> binary_facts(std::string_view fatbin) {
  std::vector<BinaryFacts> list;
  for (const auto& image : device_images(fatbin)) facts_of_image(Bytes(image.elf), image.architecture, list);
  return list;
}

std::string_view code_of(std::string_view image, const std::string& function) {
  return section_named(Bytes(image), ".text." + function);
}

std::string code_hash(std::string_view code) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  const uint64_t hash = hash_of(code);
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[hash >> shift & 15];
  return out;
}

uint32_t symbol_of(std::string_view image, const std::string& function) {
  Bytes elf(image);
  auto sections = sections_of(elf);
  constexpr uint64_t entry_bytes = 24;
  auto names_index = elf.at<uint16_t>(62);
  if (!names_index || *names_index >= sections.size()) return 0;
  for (const auto& s : sections) {
    if (elf.text(sections[*names_index].offset + s.name) != ".symtab" || s.link >= sections.size()) continue;
    for (uint32_t i = 1; i < std::min<uint64_t>(s.size, elf.size()) / entry_bytes; i++) {
      constexpr uint8_t is_function = 2;
      auto name = elf.at<uint32_t>(s.offset + entry_bytes * i);
      auto kind = elf.at<uint8_t>(s.offset + entry_bytes * i + 4);
      if (name && kind && (*kind & 0xf) == is_function && elf.text(sections[s.link].offset + *name) == function)
        return i;
    }
  }
  return 0;
}

std::string ptx_of(std::string_view image) {
  // Lines that end in zeros instead of line feeds.
  std::string text(section_named(Bytes(image), ".nv_debug_ptx_txt"));
  std::replace(text.begin(), text.end(), '\0', '\n');
  return text;
}

}  // namespace convscope
