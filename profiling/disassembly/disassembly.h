// A kernel's machine code beside its source: SASS by nvdisasm, PTX as ptxas was given it, and for each instruction the
// line that it comes from. No GPU is needed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/runtime/binary.h"
#include "profiling/base/gap.h"
#include "profiling/cupti/cupti.h"

namespace convscope {

struct SassInstruction {
  uint64_t offset = 0;  // bytes from the function's begin, as PC samples have it
  std::string text;     // "@P0 EXIT"; without a disassembler its 16 bytes as two words
  std::string label;    // of a jump to it: ".L_x_198"; else ""
  SourcePlace at;
};
struct PtxLine {
  std::string text;
  SourcePlace at;
};

struct FunctionCode {
  std::string name;
  BinaryFacts facts;  // what the compiler gave it
  uint64_t code_bytes = 0;
  std::string code_hash;  // code_hash() of its bytes (kernels/runtime/binary.h)
  std::vector<SassInstruction> sass;
  std::string sass_source;   // "nvdisasm V13.0.85"; "" with `no_text`
  Gap no_text;               // why instructions are only bytes
  std::string lines_source;  // of the places: "its line table, by CUPTI"
  Gap no_lines;
  std::vector<PtxLine> ptx;
  Gap no_ptx;
};

// Where nvdisasm is looked for: CONVSCOPE_NVDISASM (and nothing else, when it is set), the folders of PATH,
// CUDA_HOME/bin, /usr/local/cuda/bin. "" with the reason in `gap`.
std::string find_nvdisasm(Gap& gap);

// Of the image for the GPU that is named ("sm_90"), or the newest. `functions`: their extern "C" names. What is not
// there is left out. Errors: Cancelled.
std::vector<FunctionCode> disassemble(const std::vector<DeviceImage>& images, const std::string& architecture,
                                      const std::vector<std::string>& functions, const Cupti& cupti,
                                      Activity& activity);

// Parts of it, for the tests: what nvdisasm printed with -c -g, of one function; what ptxas was given, of one.
std::vector<SassInstruction> parse_sass(std::string_view printed, const std::string& function);
std::vector<PtxLine> parse_ptx(std::string_view module, const std::string& function);

}  // namespace convscope
