#include "kernels/runtime/compile/later_calls.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <link.h>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {
namespace {

const void* function_of(const Called& host_code) {
  return host_code.returns ? reinterpret_cast<const void*>(host_code.returns)
                           : reinterpret_cast<const void*>(host_code.does);
}

struct AllLaterCalls {
  std::mutex mutex;
  std::map<const void*, LaterCalls> of;
};
AllLaterCalls& all_later_calls() {
  static auto* all = new AllLaterCalls;
  return *all;
}

// ---- variables of modules

using Range = std::pair<uintptr_t, uintptr_t>;  // from, to
struct Statics {
  uintptr_t from = 0, to = 0;  // the module
  std::vector<std::pair<Range, std::vector<char>>> as_opened;
};
struct AllStatics {
  std::mutex mutex;
  std::vector<Statics> of_modules;
};
AllStatics& all_statics() {
  static auto* all = new AllStatics;
  return *all;
}

// What lies between the ranges that are left out.
std::vector<Range> without(const Range& whole, std::vector<Range> out) {
  std::sort(out.begin(), out.end());
  std::vector<Range> parts;
  uintptr_t at = whole.first;
  for (const auto& [from, to] : out) {
    if (to <= at || from >= whole.second) continue;
    if (from > at) parts.emplace_back(at, from);
    at = std::max(at, to);
  }
  if (at < whole.second) parts.emplace_back(at, whole.second);
  return parts;
}

struct Search {
  uintptr_t place;
  Statics found;
};

int note_module(dl_phdr_info* info, size_t /*bytes*/, void* search) {
  auto& s = *static_cast<Search*>(search);
  Statics module;
  module.from = UINTPTR_MAX;
  std::vector<Range> writable, fixed;  // fixed: read-only once it is linked
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& part = info->dlpi_phdr[i];
    const Range range{info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
    if (part.p_type == PT_GNU_RELRO) fixed.push_back({range.first, (range.second + 4095) / 4096 * 4096});
    if (part.p_type != PT_LOAD) continue;
    module.from = std::min(module.from, range.first), module.to = std::max(module.to, range.second);
    if (part.p_flags & PF_W) writable.push_back(range);
  }
  if (s.place < module.from || s.place >= module.to) return 0;
  for (const Range& range : writable)
    for (const Range& part : without(range, fixed)) {
      const auto* bytes = reinterpret_cast<const char*>(part.first);
      module.as_opened.emplace_back(part, std::vector<char>(bytes, bytes + (part.second - part.first)));
    }
  s.found = std::move(module);
  return 1;
}

}  // namespace

void know_statics(const void* in_module) {
  Search search{reinterpret_cast<uintptr_t>(in_module), {}};
  if (!dl_iterate_phdr(&note_module, &search)) return;
  std::lock_guard lock(all_statics().mutex);
  all_statics().of_modules.push_back(std::move(search.found));
}

void restore_statics(const Called& host_code) {
  const auto place = reinterpret_cast<uintptr_t>(function_of(host_code));
  std::vector<Range> of_device;
  for (const Variable* v = *host_code.variables; v; v = v->before) {
    const auto from = reinterpret_cast<uintptr_t>(v->on_host);
    of_device.emplace_back(from, from + static_cast<uintptr_t>(v->bytes));
  }
  std::lock_guard lock(all_statics().mutex);
  for (const Statics& module : all_statics().of_modules) {
    if (place < module.from || place >= module.to) continue;
    for (const auto& [range, bytes] : module.as_opened)
      for (const auto& [from, to] : without(range, of_device))
        std::memcpy(reinterpret_cast<void*>(from), bytes.data() + (from - range.first), to - from);
  }
}

LaterCalls later_calls(const Called& host_code) {
  std::lock_guard lock(all_later_calls().mutex);
  const auto known = all_later_calls().of.find(function_of(host_code));
  return known == all_later_calls().of.end() ? LaterCalls() : known->second;
}

namespace {

// first, then one like it, then one with other weights.
void note_later_calls(const Called& host_code, const Call& first, const Call& same, const Call& other) {
  LaterCalls said;
  if (same.launches > first.launches) {
    said.doubt = joined(
        "its host code launches ", first.launches, " in its first call and ", same.launches,
        " in the next: what it keeps between calls (static) is of other weights, or of another problem, by then");
  } else if (first.of_weights && !other.of_weights) {
    said.fault = joined("its host code launches ", first.launches, " in its first call and ", other.launches,
                        " in the next, which is given other weights and looks at none of them: what it keeps between "
                        "calls (static) is of the first weights");
  } else if (same.launches < first.launches) {
    said.note = "its host code keeps what it makes in a first call (static); judged is that call";
  }
  said.afresh = said.doubt.empty() && (same.keeps || other.keeps || same.launches < first.launches);
  if (!said.afresh && said.doubt.empty()) return;
  std::lock_guard lock(all_later_calls().mutex);
  all_later_calls().of[function_of(host_code)] = said;
}

}  // namespace

std::string refused(const ConvProblem& p, const Called& host_code) {
  try {
    restore_statics(host_code);
    Call first, same{.later = true}, other{.later = true, .other_weights = true};
    for (Call* call : {&first, &same, &other}) {
      Plan unused(p);
      record_call(p, unused, host_code, *call);
    }
    note_later_calls(host_code, first, same, other);
    return "";
  } catch (const std::exception&) {
    return refused_as(std::current_exception());
  }
}

}  // namespace convscope::host
