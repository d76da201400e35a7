#include "kernels/runtime/simt/static_shared.h"

#include <algorithm>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>
#include <span>

#include "kernels/base/demangled.h"

// The C library's: the calling thread's copy of a module's variable, made when it is asked for first (Drepper, ELF
// Handling For Thread-Local Storage, section 3.4).
struct TlsIndex {
  size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex* index);

namespace convscope::simt {
namespace {

// By where their modules lie.
struct Tables {
  std::mutex mutex;
  std::map<uintptr_t, StaticShared::Declared> of;
};
Tables& tables() {
  static auto* all = new Tables;
  return *all;
}

const StaticShared::Declared* declared_in(uintptr_t module) {
  std::lock_guard lock(tables().mutex);
  const auto it = tables().of.find(module);
  return it == tables().of.end() ? nullptr : &it->second;  // none is ever taken away
}

}  // namespace

void know_declared_shared(const void* table) {
  Dl_info module{};
  if (!dladdr(table, &module)) return;
  const auto* words = static_cast<const uint64_t*>(table);
  const auto* first = reinterpret_cast<const DeclaredShared*>(words + 2);
  StaticShared::Declared all{words[1], {first, first + words[0]}};
  std::sort(all.all.begin(), all.all.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::lock_guard lock(tables().mutex);
  tables().of.emplace(reinterpret_cast<uintptr_t>(module.dli_fbase), std::move(all));
}

const DeclaredShared* StaticShared::left(const void* p, size_t size) const {
  if (!declared || !holds(p)) return nullptr;
  const auto at = static_cast<uint64_t>(static_cast<const unsigned char*>(p) - begin);
  const auto& all = declared->all;
  // The first that begins behind it, and the one before that; of both rooms the nearer one's.
  const auto next =
      std::upper_bound(all.begin(), all.end(), at, [](uint64_t a, const auto& v) { return a < v.offset; });
  const DeclaredShared* nearest = nullptr;
  uint64_t distance = declared->room;
  if (next != all.begin()) {
    const DeclaredShared& v = *(next - 1);
    const uint64_t end = v.offset + v.bytes;
    if (at + size <= end) return nullptr;
    if (at < end || at - end < distance) nearest = &v, distance = at < end ? 0 : at - end;
  }
  if (next != all.end() && next->offset - at <= distance) nearest = &*next;
  return nearest;
}

namespace {

std::string known_name(const DeclaredShared& v) {
  const std::string whole = demangled(v.name);
  return whole.empty() ? v.name : whole;
}

}  // namespace

std::string own_name(const DeclaredShared& variable) {
  const std::string name = known_name(variable);
  const size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

MostShared most_declared_shared(const void* table) {
  const auto* words = static_cast<const uint64_t*>(table);
  const auto* first = reinterpret_cast<const DeclaredShared*>(words + 2);
  std::map<std::string, uint64_t> of;
  for (const DeclaredShared& v : std::span(first, words[0])) {
    const std::string name = known_name(v);
    of[name.substr(0, name.rfind("::"))] += v.bytes;
  }
  MostShared most;
  for (const auto& [function, bytes] : of)
    if (bytes > most.bytes) most = {function.substr(0, function.find('(')), bytes};
  if (most.function.starts_with("void ")) most.function.erase(0, 5);  // of templates
  return most;
}

StaticShared static_shared_of(const void* code) {
  struct Search {
    uintptr_t code;
    size_t module = 0, bytes = 0;
    uintptr_t base = 0;
  } search{reinterpret_cast<uintptr_t>(code)};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        bool here = false;
        size_t bytes = 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type == PT_LOAD) here |= s.code - (info->dlpi_addr + part.p_vaddr) < part.p_memsz;
          if (part.p_type == PT_TLS) bytes = part.p_memsz;
        }
        if (!here) return 0;
        const bool program = !info->dlpi_name || !*info->dlpi_name;
        if (!program) s.module = info->dlpi_tls_modid, s.bytes = bytes, s.base = info->dlpi_addr;
        return 1;
      },
      &search);
  if (!search.module || !search.bytes) return {};
  TlsIndex index{search.module, 0};
  return {static_cast<unsigned char*>(__tls_get_addr(&index)), search.bytes, declared_in(search.base)};
}

}  // namespace convscope::simt
