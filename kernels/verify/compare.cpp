#include "kernels/verify/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/counts.h"
#include "kernels/problem/tensor.h"

namespace convscope {
namespace {

constexpr float just_above_1 = 1 + std::numeric_limits<float>::epsilon();

// Elements compared at a time: few enough that a person sees progress, even where each has thousands of terms.
int64_t block_elements(const ConvProblem& p, const Oracle& oracle) {
  int64_t terms = std::max<int64_t>(1, p.in_per_group() * p.kernel_size / p.stride);
  return std::clamp((int64_t{1} << 30) / terms, int64_t{1} << 16, oracle.most_elements());
}

// What one worker counts; merged at the end.
struct Tally {
  Comparison c;
  double sum_ratio2 = 0, sum_error2 = 0, sum_expected2 = 0;
  int64_t finite = 0;

  void size_places(const ConvProblem& p) {
    if (p.stride > 1 && p.stride <= Places::most_residues) {
      c.places.residue_wrong.resize(static_cast<size_t>(p.stride));
      c.places.residue_total.resize(static_cast<size_t>(p.stride));
    }
    c.places.channel_wrong.resize(static_cast<size_t>(p.out_channels));
    c.places.batch_wrong.resize(static_cast<size_t>(p.batch));
    c.places.left_wrong.resize(Places::border);
    c.places.right_wrong.resize(Places::border);
  }
};

void add(std::vector<int64_t>& to, const std::vector<int64_t>& from) {
  for (size_t i = 0; i < to.size(); i++) to[i] += from[i];
}

bool earlier(const ElementReport& a, const ElementReport& b) {
  return std::tuple(a.n, a.co, a.j) < std::tuple(b.n, b.co, b.j);
}

double ratio_of(const ElementReport& r) {
  double e = std::fabs(r.got - r.expected);
  return std::isnan(e) ? std::numeric_limits<double>::infinity()
         : r.bound > 0 ? e / r.bound
         : e > 0       ? std::numeric_limits<double>::infinity()
                       : 0;
}

void merge(Tally& into, const Tally& t) {
  auto& a = into.c;
  const auto& b = t.c;
  a.elements += b.elements, a.failing += b.failing, a.nan += b.nan, a.inf += b.inf, a.unwritten += b.unwritten;
  a.not_infinite += b.not_infinite;
  for (size_t g = 0; g < a.gates.size(); g++) a.gates[g].failing += b.gates[g].failing;
  a.max_abs = std::max(a.max_abs, b.max_abs);
  a.max_ratio = std::max(a.max_ratio, b.max_ratio);
  if (b.first_failing && (!a.first_failing || earlier(*b.first_failing, *a.first_failing)))
    a.first_failing = b.first_failing;
  // The worst element; among equals the first, so that the answer does not depend on the number of workers.
  if (b.worst && (!a.worst || ratio_of(*b.worst) > ratio_of(*a.worst) ||
                  (ratio_of(*b.worst) == ratio_of(*a.worst) && earlier(*b.worst, *a.worst))))
    a.worst = b.worst;
  auto &p = a.places, q = b.places;
  add(p.residue_wrong, q.residue_wrong), add(p.residue_total, q.residue_total);
  add(p.channel_wrong, q.channel_wrong), add(p.batch_wrong, q.batch_wrong);
  add(p.left_wrong, q.left_wrong), add(p.right_wrong, q.right_wrong);
  p.unreached_wrong += q.unreached_wrong, p.unreached_total += q.unreached_total;
  if (q.first_column >= 0) {
    p.first_column = p.first_column < 0 ? q.first_column : std::min(p.first_column, q.first_column);
    p.last_column = std::max(p.last_column, q.last_column);
  }
  into.sum_ratio2 += t.sum_ratio2, into.sum_error2 += t.sum_error2, into.sum_expected2 += t.sum_expected2;
  into.finite += t.finite;
}

template <class T>
class RowComparer {
 public:
  RowComparer(const ConvProblem& p, const CompareOptions& o, int64_t overlap)
      : p_(p), options_(o), model_(p.dtype, o.accuracy), overlap_(overlap), bias_terms_(p.bias ? 1 : 0) {}

  // Columns [column, column + n) of a row: `value` and `magnitude` from the oracle, `terms` by column.
  void operator()(Tally& t, int64_t row, int64_t column, int64_t n, const T* y, const double* value,
                  const double* magnitude, const int64_t* terms) const {
    Comparison& c = t.c;
    bool residues = !c.places.residue_total.empty();
    c.elements += n;
    // Divided once a row: a kernel may be wrong in half of its elements.
    Place at{row / p_.out_channels, row % p_.out_channels, column, residues ? column % p_.stride : 0};
    for (int64_t m = 0; m < n; m++, at.j++) {
      if (residues) {
        if (m && ++at.residue == p_.stride) at.residue = 0;
        c.places.residue_total[static_cast<size_t>(at.residue)]++;
      }
      c.places.unreached_total += terms[m] == bias_terms_;
      double got = static_cast<double>(y[m]), expected = value[m], error = got - expected;
      double bound = 0, ratio;
      bool wrong;
      bool right_infinity = false;
      if (options_.exactness == Exactness::bitwise) {
        wrong = !(y[m] == static_cast<T>(expected));
        ratio = wrong ? std::numeric_limits<double>::infinity() : 0;
        right_infinity = sizeof(T) == 2 && !wrong && std::isinf(got);
      } else {
        bound = options_.bounds * model_.bound(magnitude[m], terms[m], expected);
        ratio = std::fabs(error) / bound;
        if constexpr (sizeof(T) == 2) {
          auto overflow = model_.overflow(magnitude[m], terms[m], expected);
          right_infinity = std::isinf(got) && overflow.may && std::signbit(got) == std::signbit(expected);
          if (right_infinity) ratio = 0;
          if (std::isfinite(got) && overflow.must) {
            ratio = std::numeric_limits<double>::infinity();
            c.not_infinite++;
          }
        }
        wrong = !(ratio <= 1);
      }
      int64_t e = row * p_.out_length() + at.j;
      float *error_to = options_.sink.error, *ratio_to = options_.sink.ratio;
      const bool finite = std::isfinite(got),
                 oracle_kept = error_to && ratio_to && wrong && finite && std::fabs(error) > std::fabs(expected);
      if (error_to) error_to[e] = static_cast<float>(finite && !oracle_kept ? error : expected);
      // Rounded to float a ratio just above 1 would be 1, and a wrong element would look right.
      if (ratio_to) {
        const float rounded =
            wrong && ratio < 1.5 ? std::max(static_cast<float>(ratio), just_above_1) : static_cast<float>(ratio);
        ratio_to[e] = oracle_kept ? -rounded : rounded;
      }
      double size = std::fabs(error);
      if (right_infinity) {
        // Neither wrong nor a number: nothing to count.
      } else if (size <= std::numeric_limits<double>::max()) {  // finite
        t.finite++;
        c.max_abs = std::max(c.max_abs, size);
        t.sum_error2 += error * error;
        t.sum_expected2 += expected * expected;
        if (bound > 0) t.sum_ratio2 += ratio * ratio;
        for (auto& g : c.gates) g.failing += size > g.atol + g.rtol * std::fabs(expected);
      } else {
        if (options_.unwritten_pattern &&
            std::bit_cast<BitsOf<T>>(y[m]) == static_cast<BitsOf<T>>(options_.unwritten_pattern))
          c.unwritten++;
        else if (std::isnan(got))
          c.nan++;
        else if (std::isinf(got))
          c.inf++;
        for (auto& g : c.gates) g.failing++;
        ratio = std::numeric_limits<double>::infinity();
      }
      if (ratio > c.max_ratio || !c.worst) {
        c.max_ratio = std::max(c.max_ratio, ratio);
        c.worst = {at.n, at.co, at.j, got, expected, bound};
      }
      if (wrong) note_wrong(c, at, got, expected, bound, terms[m]);
    }
  }

 private:
  struct Place {
    int64_t n, co, j, residue;
  };

  void note_wrong(Comparison& c, const Place& at, double got, double expected, double bound, int64_t terms) const {
    ElementReport r{at.n, at.co, at.j, got, expected, bound};
    const int64_t j = at.j;
    c.failing++;
    if (!c.first_failing || earlier(r, *c.first_failing)) c.first_failing = r;
    Places& p = c.places;
    if (!p.residue_wrong.empty()) p.residue_wrong[static_cast<size_t>(at.residue)]++;
    p.channel_wrong[static_cast<size_t>(r.co)]++;
    p.batch_wrong[static_cast<size_t>(r.n)]++;
    if (j < Places::border) p.left_wrong[static_cast<size_t>(j)]++;
    if (overlap_ - 1 - j < Places::border) p.right_wrong[static_cast<size_t>(overlap_ - 1 - j)]++;
    p.unreached_wrong += terms == bias_terms_;
    p.first_column = p.first_column < 0 ? j : std::min(p.first_column, j);
    p.last_column = std::max(p.last_column, j);
  }

  const ConvProblem& p_;
  const CompareOptions& options_;
  BoundModel model_;
  int64_t overlap_, bias_terms_;
};

}  // namespace

Comparison compare(const ConvProblem& p, Oracle& oracle, const OutputView& y, const CompareOptions& options,
                   Activity* activity) {
  int64_t rows = p.batch * p.out_channels, overlap = std::min(p.out_length(), y.own_length);
  Tally all;
  all.c.gates = options.gates;
  for (auto& g : all.c.gates) g.failing = 0;
  all.size_places(p);
  const Tally empty = all;
  if (overlap <= 0) return all.c;

  int64_t most = block_elements(p, oracle), columns = std::min(overlap, most),
          at_a_time = std::clamp<int64_t>(most / columns, 1, rows);
  bool want_magnitude = options.exactness == Exactness::bound;
  HostBytes value(static_cast<size_t>(at_a_time * columns) * 8), magnitude(want_magnitude ? value.size() : 0);
  if (activity) activity->phase("comparing with the oracle", static_cast<uint64_t>(rows * overlap));
  std::mutex mutex;
  for (int64_t column = 0; column < overlap; column += columns) {
    int64_t now_columns = std::min(columns, overlap - column);
    auto terms = term_counts(p, column, now_columns);
    for (int64_t row = 0; row < rows; row += at_a_time) {
      if (activity) activity->check();
      int64_t now_rows = std::min(at_a_time, rows - row);
      oracle.compute({row, now_rows, column, now_columns}, value.as<double>(),
                     want_magnitude ? magnitude.as<double>() : nullptr);
      // Pieces of rows, so that few long rows are shared out as well as many short ones.
      constexpr int64_t piece = 1 << 16;
      int64_t pieces = (now_columns + piece - 1) / piece;
      WorkerPool::shared().for_chunks(
          now_rows * pieces, std::max<int64_t>(1, piece / now_columns), [&](int64_t a, int64_t b) {
            Tally t = empty;
            dispatch(p.dtype, [&](auto zero) {
              using T = decltype(zero);
              RowComparer<T> comparer(p, options, overlap);
              for (int64_t i = a; i < b; i++) {
                int64_t r = i / pieces, from = i % pieces * piece, n = std::min(piece, now_columns - from),
                        at = r * now_columns + from;
                comparer(t, row + r, column + from, n,
                         reinterpret_cast<const T*>(y.data) + (row + r) * y.own_length + column + from,
                         value.as<double>() + at, want_magnitude ? magnitude.as<double>() + at : nullptr,
                         terms.data() + from);
              }
            });
            std::lock_guard lock(mutex);
            merge(all, t);
          });
      if (activity) activity->advance(static_cast<uint64_t>(now_rows * now_columns));
    }
  }
  if (all.finite) all.c.rms_ratio = std::sqrt(all.sum_ratio2 / static_cast<double>(all.finite));
  if (all.sum_expected2 > 0) all.c.rms_relative = std::sqrt(all.sum_error2 / all.sum_expected2);
  return all.c;
}

}  // namespace convscope
