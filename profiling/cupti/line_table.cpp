// From an instruction to its source line: the line table that nvcc leaves in a cubin with -lineinfo, read by CUPTI.
#include <cstdlib>
#include <fmt/format.h>

#include "profiling/cupti/state.h"

namespace convscope {
namespace cupti {

uint64_t crc_of(const Library& l, std::string_view cubin) {
  CUpti_GetCubinCrcParams p{};
  p.size = CUpti_GetCubinCrcParamsSize;
  p.cubin = cubin.data(), p.cubinSize = cubin.size();
  return l.cuptiGetCubinCrc(&p) == CUPTI_SUCCESS ? p.cubinCrc : 0;
}

std::vector<SourcePlace> places_of(const Library& l, std::string_view cubin, const std::string& function,
                                   const std::vector<uint64_t>& offsets, Gap& gap) {
  std::vector<SourcePlace> all(offsets.size());
  CUptiResult last = CUPTI_SUCCESS;
  size_t found = 0;
  for (size_t i = 0; i < offsets.size(); i++) {
    CUpti_GetSassToSourceCorrelationParams p{};
    p.size = CUpti_GetSassToSourceCorrelationParamsSize;
    p.cubin = cubin.data(), p.cubinSize = cubin.size();
    p.functionName = function.c_str();
    p.pcOffset = offsets[i];
    auto r = l.cuptiGetSassToSourceCorrelation(&p);
    if (r != CUPTI_SUCCESS) {
      last = r;
      continue;
    }
    std::string file = p.fileName ? p.fileName : "", folder = p.dirName ? p.dirName : "";
    std::free(p.fileName), std::free(p.dirName);  // ours to free, says the header
    if (!folder.empty() && !file.empty() && file.front() != '/') file.insert(0, folder + "/");
    all[i] = {file, static_cast<int>(p.lineNumber)};
    found += p.lineNumber > 0;
  }
  if (!found && !offsets.empty()) {
    const char* text = nullptr;
    l.cuptiGetResultString(last, &text);
    gap = {"no-lines", fmt::format("{} has no line table{}", function, text ? fmt::format(" ({})", text) : ""),
           "device code has one when it is compiled with -lineinfo"};
  }
  return all;
}

}  // namespace cupti

std::vector<SourcePlace> Cupti::source_places(std::string_view cubin, const std::string& function,
                                              const std::vector<uint64_t>& offsets, Gap& gap) const {
  gap = state_->library.missing;
  if (gap) return {};
  return cupti::places_of(state_->library, cubin, function, offsets, gap);
}

}  // namespace convscope
