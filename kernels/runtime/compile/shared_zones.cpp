#include "kernels/runtime/compile/shared_zones.h"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace convscope {
namespace {

// What follows `word` and blanks in a line of assembly, or "".
std::string_view operand_of(std::string_view line, std::string_view word) {
  const size_t from = line.find_first_not_of(" \t");
  if (from == line.npos || !line.substr(from).starts_with(word)) return {};
  line.remove_prefix(from + word.size());
  const size_t operand = line.find_first_not_of(" \t");
  return operand == 0 || operand == line.npos ? std::string_view{} : line.substr(operand);
}

}  // namespace

std::string with_room_around_shared(std::string_view assembly, size_t room, bool with_table) {
#if defined(__x86_64__)
  std::string out;
  out.reserve(assembly.size() + assembly.size() / 16);
  struct Variable {
    std::string_view name, bytes;
  };
  std::vector<Variable> all;
  bool here = false;   // in a section of such variables
  bool begun = false;  // the last one's bytes come now
  Variable next;       // what is said of one before it begins
  for (size_t at = 0; at < assembly.size();) {
    const size_t end = std::min(assembly.find('\n', at), assembly.size());
    const std::string_view line = assembly.substr(at, end - at);
    at = end + 1;
    if (const auto section = operand_of(line, ".section"); !section.empty())
      here = section.starts_with(".tbss");
    else if (line == "\t.text" || line == "\t.data" || line == "\t.bss")
      here = false;
    if (const auto type = operand_of(line, ".type"); !type.empty()) next = {type.substr(0, type.find(',')), {}};
    if (const auto size = operand_of(line, ".size"); size.starts_with(next.name) && size.find(',') != size.npos)
      next.bytes = size.substr(size.find_first_not_of(", ", size.find(',')));
    const bool own = next.name.starts_with("_ZN9convscope");  // convscope/recording.h: the host's
    if (here && !own && !next.bytes.empty() && line.ends_with(':') && line.substr(0, line.size() - 1) == next.name) {
      out += fmt::format("\t.zero\t{}\n", room);  // a multiple of what it is aligned to
      all.push_back(next);
      begun = true, next = {};
    }
    // As the compiler says it under -fno-weak of those of templates: name,bytes,alignment.
    if (const auto common = operand_of(line, ".tls_common"); !common.empty() && !common.starts_with("_ZN9convscope")) {
      const size_t first = common.find(','), second = std::min(common.find(',', first + 1), common.size() - 1);
      all.push_back({common.substr(0, first), common.substr(first + 1, second - first - 1)});
      out += fmt::format(
          "\t.pushsection\t.tbss,\"awT\",@nobits\n\t.balign\t{0}\n\t.type\t{1}, @object\n\t.size\t{1}, {2}\n"
          "\t.globl\t{1}\n\t.zero\t{3}\n{1}:\n\t.zero\t{2}\n\t.zero\t{3}\n\t.popsection\n",
          common.substr(second + 1), all.back().name, all.back().bytes, room);
      continue;
    }
    out.append(line) += '\n';
    if (begun && !operand_of(line, ".zero").empty()) {
      out += fmt::format("\t.zero\t{}\n", room);
      begun = false;
    }
  }
  if (all.empty()) return std::string(assembly);
  if (!with_table) return out;
  std::string table, names;
  for (size_t i = 0; i < all.size(); i++) {
    table += fmt::format("\t.quad\t{}@dtpoff, {}, .Lconvscope_name{}\n", all[i].name, all[i].bytes, i);
    names += fmt::format(".Lconvscope_name{}:\n\t.string\t\"{}\"\n", i, all[i].name);
  }
  out += fmt::format(
      "\t.section\t.rodata.convscope_shared,\"a\",@progbits\n{}"
      "\t.section\t.data.rel.ro.convscope_shared,\"aw\",@progbits\n\t.balign\t8\n"
      "\t.globl\tconvscope_declared_shared\n\t.type\tconvscope_declared_shared, @object\n"
      "convscope_declared_shared:\n\t.quad\t{}, {}\n{}",
      names, all.size(), room, table);
  return out;
#else
  (void)room, (void)with_table;
  return std::string(assembly);
#endif
}

}  // namespace convscope
