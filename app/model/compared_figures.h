// Two kernels held against each other, figure by figure: what the panel Compare shows and its menu copies.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/model/comparison.h"
#include "app/model/profile.h"
#include "profiling/metrics/figures.h"

namespace convscope {

// Of the first against the second. Neutral: neither more nor less of it is better, or both have enough. Emulated: a
// time of the emulator, which says nothing of either kernel.
enum class FigureVerdict { better, worse, same, neutral, ambiguous, emulated };
const char* name_of(FigureVerdict v);

struct ComparedFigure {
  FigureGroup group = FigureGroup::time;
  std::string title, unit;  // of the values as they are: "ms", "byte", "%", "MHz", "request"; "1": a ratio
  std::optional<double> a, b;
  std::string a_words, b_words;    // of what is no number: "132 × 1 × 1"
  std::string a_reason, b_reason;  // why there is no value
  std::string about;               // what it is, its formula, what good looks like
  std::string source_a, source_b;
  bool estimate_a = false, estimate_b = false;  // of some blocks, all others being taken to be like them: shown with ≈
  std::optional<FigureVerdict> verdict;         // none where a value is missing, and where the values are words
  std::string rule;                             // what the verdict rests on

  std::optional<double> difference() const;  // a − b, in `unit`
  std::optional<double> ratio() const;       // a / b; none when b is 0
};

// The floor that both are held against, as every panel has it: that of their problem, not of the arithmetic of each.
// loose_a, loose_b: it computes less accurately than what is asked for, and may be below.
struct HeldFloor {
  double ms = 0;
  std::string words;  // "by bytes of NVIDIA H200, datasheet"
  bool loose_a = false, loose_b = false;
};

// Every figure of both: the comparison's times and what the profiles hold (null: there is none yet). By group in the
// order of FigureGroup.
std::vector<ComparedFigure> compared_figures(const KernelComparison& c, const Profile* a, const Profile* b,
                                             const std::optional<HeldFloor>& floor = {});

// The same where that has no room: "2.72 G" for a count of 2,724,040,448. "" where there is no shorter form.
std::string short_words(const std::optional<double>& v, const std::string& unit);
// As it stands in a table: "1.23 ms", "59.8 %", "1,072,093,440"; "+65.0 pp" for a difference of shares (percentage
// points), "1/104×" for a small ratio. "–": there is none. Bytes in the unit that suits the larger of both values,
// which is `beside`.
std::string value_words(const std::optional<double>& v, const std::string& unit,
                        const std::optional<double>& beside = {});
std::string difference_words(const ComparedFigure& f);
std::string ratio_words(const ComparedFigure& f);

// Rows of group, figure, unit, both values, difference, ratio, verdict, rule and both sources; names of the kernels in
// the first one.
std::string csv_of(const std::vector<ComparedFigure>& figures, const std::string& first, const std::string& second);

}  // namespace convscope
