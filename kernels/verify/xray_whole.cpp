#include "kernels/verify/xray_whole.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

#include "kernels/verify/index_formula.h"

namespace convscope {

std::string nothing_at_all(const std::vector<Mapped>& all) {
  auto in_all = [&](auto is) {
    return std::all_of(all.begin(), all.end(), [&](const Mapped& m) {
      return !m.map.reads.empty() && std::all_of(m.map.reads.begin(), m.map.reads.end(), is);
    });
  };
  if (in_all([](const IndexMap::Read& r) { return r.unwritten(); })) return "no output is ever written";
  if (!in_all([](const IndexMap::Read& r) { return r.at == IndexMap::none; })) return "";
  return "on small problems no product stays in any output: a loop is not entered, each product is left out by a test, "
         "or something else is written in its place";
}

std::string first_sequence_alone(const std::vector<Mapped>& all) {
  bool several = false;
  for (const Mapped& m : all) {
    const ConvProblem& p = m.map.problem;
    if (m.map.reads.empty() || m.map.out_length != p.out_length()) return "";
    several |= p.batch > 1;
    for (int64_t w = 0; w < p.w_elements(); w++)
      for (int64_t o = 0; o < m.map.outputs(); o++) {
        const int64_t j = o % m.map.out_length, co = o / m.map.out_length % p.out_channels,
                      n = o / m.map.out_length / p.out_channels;
        const IndexMap::Read& r = m.map.read(w, o);
        if (r.at != (n ? int64_t{IndexMap::none} : flat_input(p, w, n, co, j)) || (r.at >= 0 && r.times != 1))
          return "";
      }
  }
  return several ? "only the first sequence has its products: those of the others' outputs take nothing that is in x"
                 : "";
}

std::optional<RowFault> positions_or_sums(const std::vector<Mapped>& all, const Mapped& shown) {
  std::vector<const IndexMap*> wrong{&shown.map};
  for (const Mapped& m : all)
    if (!m.right && &m != &shown) wrong.push_back(&m.map);
  if (std::string positions = wrong_positions(wrong); !positions.empty()) return RowFault{positions};
  for (const IndexMap* m : wrong)
    if (wrong_sums(*m).what.empty()) return {};
  return wrong_sums(shown.map);
}

namespace {

// Whether a rule of its products is all that may be wrong with it.
bool sums_alone(const IndexMap& m) {
  if (m.reads.empty() || m.out_length != m.problem.out_length() || !m.added.empty() || !m.unset.empty()) return false;
  for (size_t o = 0; o < m.biases.size(); o++)
    if (m.biases[o].at != static_cast<int64_t>(o) / m.out_length % m.problem.out_channels ||
        std::fabs(m.biases[o].times - 1) > 1e-3f)
      return false;
  return true;
}

// Of a map what belongs to one sequence, if that takes nothing of another's.
std::optional<IndexMap> sequence_of(const IndexMap& m, int64_t n) {
  const int64_t of_x = m.problem.in_channels * m.problem.length, of_y = m.outputs() / m.problem.batch;
  IndexMap one;
  one.problem = m.problem, one.problem.batch = 1, one.out_length = m.out_length, one.launches = m.launches;
  for (int64_t w = 0; w < m.problem.w_elements(); w++)
    for (int64_t o = 0; o < of_y; o++) {
      IndexMap::Read r = m.read(w, n * of_y + o);
      if (r.at == IndexMap::unclear && std::isfinite(r.times)) return {};
      if (r.at >= 0 && r.at / of_x != n) return {};
      if (r.at >= 0) r.at -= static_cast<int32_t>(n * of_x);
      one.reads.push_back(r);
    }
  for (int64_t o = 0; o < of_y && !m.biases.empty(); o++)
    one.biases.push_back(m.biases[static_cast<size_t>(n * of_y + o)]);
  return one;
}

bool same(const std::vector<IndexMap::Read>& a, const std::vector<IndexMap::Read>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const IndexMap::Read& one, const IndexMap::Read& other) {
    return one.at == other.at &&
           (one.at == IndexMap::none || one.times == other.times || (std::isnan(one.times) && std::isnan(other.times)));
  });
}

// The sequences from `first` on alone are wrong, and alike: one of them. Nothing where it is not so.
std::optional<Mapped> from_on(const Mapped& m, int64_t first) {
  std::optional<Mapped> wrong;
  for (int64_t n = 0; n < m.problem.batch; n++) {
    auto map = sequence_of(m.map, n);
    if (!map) return {};
    Mapped one = mapped_of(std::move(*map));
    if (one.right != (n < first) ||
        (wrong && (!same(wrong->map.reads, one.map.reads) || !same(wrong->map.biases, one.map.biases))))
      return {};
    if (!one.right) wrong = std::move(one);
  }
  if (wrong) wrong->problem = m.problem;  // it is said to be so on that one
  return wrong;
}

// Of every problem; first: of how many sequences which. Empty where it is not so on one of them.
std::vector<Mapped> all_from_on(const std::vector<Mapped>& all, const std::function<int64_t(int64_t)>& first) {
  std::vector<Mapped> maps;
  for (const Mapped& m : all) {
    auto one = m.right ? std::optional(m) : from_on(m, first(m.problem.batch));
    if (!one) return {};
    maps.push_back(std::move(*one));
  }
  return maps;
}

std::string words_of_sequences(int64_t first, bool or_last) {
  if (or_last && first == 1) return "in the second of two sequences";
  if (or_last) return fmt::format("in the last of {} sequences", first + 1);
  return first == 1 ? "in sequences after the first" : fmt::format("in sequences from n = {} on", first);
}

}  // namespace

std::optional<WholeRule> rule_of(const std::vector<const IndexMap*>& all, const std::vector<ConvProblem>& of) {
  std::vector<TermMap> maps;
  for (const IndexMap* m : all) {
    if (!sums_alone(*m)) return {};
    maps.emplace_back(*m);
  }
  auto problem_of = [&](const TermMap& m) {
    return of.empty() ? m.problem() : of[static_cast<size_t>(&m - maps.data())];
  };
  for (auto* rule : {other_numbers, wrong_steps, wrong_classes, wrong_count, left_of_outputs, wrong_taps,
                     wrong_channels, transposed_tiles, beside_tiles, wrong_modulo, left_from, other_orders})
    if (const TermFault f = rule(maps); !f.what.empty())
      return WholeRule{f.what + (f.seen_on ? fmt::format(" (on {})", describe(problem_of(*f.seen_on))) : ""), f.formula,
                       f.right_formula};
  return {};
}

std::optional<WholeRule> rule_of(const std::vector<Mapped>& all) {
  std::vector<ConvProblem> of;
  for (const Mapped& m : all) of.push_back(m.problem);
  return rule_of(maps_of(all), of);
}

std::optional<SequencesApart> sequences_apart(const std::vector<Mapped>& all) {
  int64_t most = 0;
  for (const Mapped& m : all) {
    if (m.map.reads.empty() || !m.length.empty() || !m.map.added.empty() || !m.map.unset.empty()) return {};
    if (!m.right) most = std::max(most, m.problem.batch);
  }
  if (most < 2) return {};
  for (int64_t first = 1; first < most; first++) {
    auto maps = all_from_on(all, [&](int64_t) { return first; });
    if (maps.empty()) continue;
    // Where no more sequences were mapped, the last may be meant as well.
    const bool or_last =
        std::all_of(all.begin(), all.end(), [&](const Mapped& m) { return m.right || m.problem.batch == first + 1; });
    return SequencesApart{words_of_sequences(first, or_last), std::move(maps)};
  }
  auto maps = all_from_on(all, [](int64_t batch) { return batch - 1; });
  if (maps.empty()) return {};
  return SequencesApart{"in the last sequence", std::move(maps)};
}

}  // namespace convscope
