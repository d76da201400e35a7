// What the engine here has: kernels, devices and libraries.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/model/engine_link.h"
#include "app/model/report.h"

namespace convscope {

// A kernel as the engine's lists have it.
KernelEntry kernel_entry(const nlohmann::json& k);

// Asked at once, beside everything else.
class Inventory {
 public:
  explicit Inventory(EngineLink& link);

  void ask();  // once at the start, and again with Refresh

  const std::vector<KernelEntry>& kernels() const { return kernels_; }
  const nlohmann::json& info() const { return *info_; }
  bool knows_devices() const;
  bool runs_on_a_gpu(const Document& document) const;
  // Exhibits are wrong on purpose, also where that cannot be seen.
  bool is_exhibit(const std::string& kernel) const;
  bool is_from_outside(const std::string& kernel) const;  // of a file that a person opened
  bool is_kernel(const std::string& name) const;          // and no reference
  // Of these kernels those that the engine here has: a file may not have been opened since.
  std::vector<std::string> known_of(const std::vector<std::string>& kernels) const;

  // The kernels of an opened file, as it was answered, take the place of those that it had.
  void take_file(const std::string& path, const nlohmann::json& answer);
  // It has none; that it is there, and why it cannot be chosen, is listed where nothing else of it is.
  void take_trouble(const std::string& path, const std::string& trouble);

 private:
  EngineLink& link_;
  std::vector<KernelEntry> kernels_;
  std::unique_ptr<nlohmann::json> info_;
};

}  // namespace convscope
