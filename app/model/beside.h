// Another's output beside the kernel's: what maps and lines show in the oracle's place.
#pragma once
#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/model/report.h"
#include "app/model/view.h"

namespace convscope {

inline constexpr const char* oracle_name = "oracle";

struct Beside {
  uint64_t serial = 0;                              // of the report whose result it stands beside
  std::string with;                                 // a kernel or a reference
  std::string output, difference;                   // what tiles and numbers are asked of; "" where it has none
  std::string trouble;                              // then: why
  int64_t elements = 0, identical = 0, beyond = 0;  // beyond: further apart than two right kernels can be
  double max_abs = 0;
  std::string where;                                // what those have in common
  std::array<std::optional<ValueRange>, 4> ranges;  // of the difference, by Quantity
  std::string status, sentence;                     // of a kernel: its own verdict, once it is known
};

// Errors: none; what lacks stays empty.
Beside beside_from(const nlohmann::json& answer, uint64_t serial, const std::string& with);

}  // namespace convscope
