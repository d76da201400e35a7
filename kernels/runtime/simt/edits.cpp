#include "convscope/edits.h"

#include <algorithm>
#include <csetjmp>
#include <stdexcept>
#include <utility>

#include "kernels/runtime/simt/block.h"
#include "kernels/runtime/simt/edited_memory.h"

namespace convscope {
namespace {

std::vector<std::pair<uint64_t, uint64_t>> allowed;
constinit thread_local sigjmp_buf* before_host_code = nullptr;

}  // namespace

namespace edits {

State state;

void give_up() {
  constexpr const char* why = "an edit leads nowhere";
  if (!simt::Block::current()) throw std::runtime_error(why);
  simt::trap(simt::Site::current(), why);
}

bool may_use(const void* address) {
  const auto a = reinterpret_cast<uint64_t>(address);
  if (std::any_of(allowed.begin(), allowed.end(), [&](const auto& r) { return a >= r.first && a < r.second; }))
    return true;
  simt::KnownTensor nearest;
  if (simt::nearest_tensor(a, nearest)) return true;  // what lies around it is nothing's
  const simt::Block* block = simt::Block::current();
  if (!block) return true;
  // A pointer behind an array's end may be made: some bytes more lie between red zones.
  constexpr int64_t zone = 512;
  const auto* p = static_cast<const unsigned char*>(address);
  return block->is_shared(p) || block->is_shared(p - zone) || block->in_frames(p);
}

}  // namespace edits

namespace simt {

void know_edited_memory(std::vector<std::pair<uint64_t, uint64_t>> ranges) { allowed = std::move(ranges); }

bool survives_host_code(const std::function<void()>& call) {
  sigjmp_buf here;
  struct Forget {
    ~Forget() { before_host_code = nullptr; }
  } forget;
  if (sigsetjmp(here, 1)) return false;
  before_host_code = &here;
  call();
  return true;
}

void leave_edited_host_code() {
  if (sigjmp_buf* to = std::exchange(before_host_code, nullptr)) siglongjmp(*to, 1);
}

}  // namespace simt
}  // namespace convscope
