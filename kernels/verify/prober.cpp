#include "kernels/verify/prober.h"

#include <algorithm>

namespace convscope {
namespace {

constexpr int64_t few_blocks = 8;  // less than that costs more to find than it saves

// Words without which no block of a file from outside waits for another one, or hands it something.
bool may_meet(const std::string& text) {
  constexpr const char* words[] = {"atomic", "volatile", "asm", "fence", "cooperative", "__ldc", "__nanosleep"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* w) { return text.find(w) != std::string::npos; });
}

}  // namespace

// UndefinedBehaviorSanitizer does not know the types of kernels in modules.
__attribute__((no_sanitize("vptr"))) std::optional<int64_t> launch_of_lone_blocks(const KernelDefinition& kernel,
                                                                                  const Plan& plan) {
  if (plan.workspace_bytes() || !plan.variables().empty() || may_meet(kernel.text())) return {};
  std::optional<int64_t> found;
  for (size_t i = 0; i < plan.launches().size(); i++) {
    if (!plan.launches()[i].is_given(Tensor::y)) continue;
    if (found || plan.launches()[i].in_order) return {};
    found = static_cast<int64_t>(i);
  }
  return found;
}

void Prober::narrow(int64_t n, int64_t co, int64_t j) {
  const auto launch = launch_of_lone_blocks(kernel_, plan_);
  if (!device_.is_emulator() || !launch) return;
  const int64_t blocks = plan_.launches()[static_cast<size_t>(*launch)].grid.count();
  if (blocks < few_blocks) return;
  const uint64_t whole = bits_of(n, co, j);
  const uint32_t words[2] = {was_there_, was_there_};
  uint64_t untouched = 0;
  std::memcpy(&untouched, words, size_of(p_.dtype));
  if (whole == untouched) return;  // nobody has written it, or with what was there added
  Part part{*launch, 0, static_cast<uint64_t>(blocks)};
  try {
    while (part.blocks > 1) {
      Part half = part;
      half.blocks = part.blocks / 2;
      run(was_there_, half);
      if (bits_of(n, co, j) == untouched) half.first += half.blocks, half.blocks = part.blocks - half.blocks;
      part = half;
    }
    run(was_there_, part);
  } catch (const KernelFault&) {
    return;
  }
  if (bits_of(n, co, j) == whole) part_ = part;
}

}  // namespace convscope
