#include "kernels/verify/index_loop.h"

#include <cmath>
#include <string_view>

namespace convscope::index_loop {
namespace {

constexpr const char* operand_names[operands] = {
    "N", "Cin", "Cout", "K",     "L", "Lout", "s", "p",  "d", "groups", "(Cin/groups)", "(Cout/groups)", "e",
    "j", "co",  "n",    "first", "k", "t",    "i", "ci", "0", "1"};

}  // namespace

Values sizes_of(const IndexMap& m) {
  const ConvProblem& c = m.problem;
  Values o{};
  o[N] = c.batch, o[Cin] = c.in_channels, o[Cout] = c.out_channels, o[K] = c.kernel_size, o[L] = c.length;
  o[Lout] = m.out_length, o[s] = c.stride, o[p] = c.padding, o[d] = c.dilation, o[g] = c.groups;
  o[Cig] = c.in_per_group(), o[Cog] = c.out_per_group(), o[one] = 1;
  return o;
}

Program Loop::right() const {
  Program q;
  for (size_t place = 0; place < definition.size(); place++) q.slots[place] = definition[place];
  return q;
}

const Statement& Loop::statement_of(int place) const {
  size_t found = statements.size() - 1;
  while (statements[found].from > place) found--;
  return statements[found];
}

std::string Loop::text(const Statement& st, const Program& q) const {
  std::string_view as = st.text;
  for (const Change& c : operators)
    if (c.at == st.from && q.has(c.is)) as = c.text;
  std::string out;
  int next = 0;
  for (std::string_view rest = as; !rest.empty();) {
    if (rest.starts_with("{}")) {
      const Slot& slot = q.slots[static_cast<size_t>(st.from + next++)];
      const std::string name = operand_names[slot.operand];
      out += slot.add == 0 ? name : "(" + name + (slot.add > 0 ? " + 1)" : " − 1)");
      rest.remove_prefix(2);
    } else {
      out += rest.front(), rest.remove_prefix(1);
    }
  }
  for (const auto& [as_made, written] : {std::pair{"k < (K + 1)", "k ≤ K"},
                                         {"ci < (first + 1) + (Cin/groups)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + ((Cin/groups) + 1)", "ci ≤ first + Cin/groups"},
                                         {"ci < first + (Cin/groups)", "ci < first + Cin/groups"},
                                         {"Cin/1", "Cin"},
                                         {"Cout/1", "Cout"}})
    if (out == as_made) return written;
  return out;
}

void add_address(Loop& l, const std::string& tensor, int place, int adds) {
  l.statements.push_back({place, 5, tensor + "[({}·{} + {})·{} + {}]", "the address in " + tensor});
  int is = adds;
  for (const char* text :
       {"[({} + {} + {})·{} + {}]", "[({}·{} − {})·{} + {}]", "[{}·{} + {} + {} + {}]", "[({}·{} + {})·{} − {}]"})
    l.operators.push_back({is++, place, tensor + text});
}

bool is_sum(const IndexMap::Read& r, int64_t sum) {
  if (r.at == IndexMap::none || sum == 0) return r.at == IndexMap::none && sum == 0;
  if (r.at == IndexMap::unclear) return std::isfinite(r.times);
  return std::fabs(static_cast<double>(r.times) * input_code(r.at) / static_cast<double>(sum) - 1) <= 1e-3;
}

}  // namespace convscope::index_loop
