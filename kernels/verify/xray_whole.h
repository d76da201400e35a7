// What maps say together where no formula of an index is asked for it, or none gives them (private to xray).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/index_rows.h"
#include "kernels/verify/index_terms.h"
#include "kernels/verify/xray_mapped.h"

namespace convscope {

// Of maps in which nothing is: no formula says more of them. "" of others.
std::string nothing_at_all(const std::vector<Mapped>& all);

// Of maps in which the first sequence is right and the others have nothing, as where their rows are looked for behind
// the end of x: many formulas of a channel give that as well. "" of others.
std::string first_sequence_alone(const std::vector<Mapped>& all);

// What else may be wrong on all problems on which anything is, where no formula gives them all: positions that are
// exchanged, or products that are missing from every sum, of which on one of the problems a formula may say something
// as well. Nothing where it is not so.
std::optional<RowFault> positions_or_sums(const std::vector<Mapped>& all, const Mapped& shown);

// A rule that gives every product of all of them.
struct WholeRule {
  std::string what, formula, right_formula;
};
// of: the problems that are named in its words, where the maps are cut from those of others; empty: their own.
std::optional<WholeRule> rule_of(const std::vector<const IndexMap*>& all, const std::vector<ConvProblem>& of = {});
std::optional<WholeRule> rule_of(const std::vector<Mapped>& all);

// Some sequences are right and the others all wrong in one way: maps of one of these alone, each as of a problem with
// one sequence. Nothing where it is not so on all problems on which anything is wrong.
struct SequencesApart {
  std::string which;  // "in sequences after the first"; "in the last of 3 sequences" where only 3 were mapped
  std::vector<Mapped> maps;
};
std::optional<SequencesApart> sequences_apart(const std::vector<Mapped>& all);

}  // namespace convscope
