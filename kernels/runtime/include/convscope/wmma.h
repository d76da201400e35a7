// Products of matrices by a warp with CUDA's own names, for the emulator: what kernel files from outside get as <mma.h>
// (CUDA C++ Programming Guide, "Warp Matrix Functions"). Which lane holds which element of a fragment is unspecified
// there; here element i of lane l is number 32·i + l, by rows. Products are exact, sums are made one after another in
// f32 (f64, integers) and rounded once where the result is f16: a GPU sums in another order. Alignments of pointers and
// of ldm are not checked.
#pragma once
#include "convscope/half_functions.h"
#include "convscope/mma.h"

namespace nvcuda::wmma {

using convscope::simt::Site;

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

template <class T>
struct StorageOf {
  using type = T;
};
template <>
struct StorageOf<precision::tf32> {
  using type = float;
};

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  static constexpr bool is_a = std::is_same_v<Use, matrix_a>, is_b = std::is_same_v<Use, matrix_b>;
  static_assert(is_a || is_b || std::is_same_v<Use, accumulator>);
  static_assert((m == 16 && n == 16 && (k == 16 || k == 8)) || (m == 32 && n == 8 && k == 16) ||
                    (m == 8 && n == 32 && k == 16) || (m == 8 && n == 8 && k == 4),
                "the emulator has the shapes 16x16x16, 32x8x16, 8x32x16, 16x16x8 (tf32) and 8x8x4 (double)");

 public:
  using element_type = T;
  using storage_element_type = typename StorageOf<T>::type;
  static constexpr int rows = is_b ? k : m, columns = is_a ? k : n;
  static constexpr int num_elements = rows * columns / 32, num_storage_elements = num_elements;
  storage_element_type x[num_elements];
};

namespace of_convscope {

// f(element, its place in memory) for those of this lane.
template <class F, class P, class Each>
__forceinline__ void each_element(F& f, P* p, unsigned ldm, bool by_rows, Each each) {
  for (int i = 0; i < F::num_elements; i++) {
    const unsigned e = 32 * static_cast<unsigned>(i) + convscope::simt::lane();
    const unsigned r = e / static_cast<unsigned>(F::columns), c = e % static_cast<unsigned>(F::columns);
    each(f.x[i], p[by_rows ? size_t{r} * ldm + c : size_t{c} * ldm + r]);
  }
}
// All lanes of the warp take part.
CONVSCOPE_UNTRACED inline void together(const char* what, const Site& at) {
  convscope::simt::collective(~0u, nullptr, nullptr, what, at);
}

// As the tensor cores take a value.
template <class T, class S>
CONVSCOPE_UNTRACED auto wide(S v) {
  if constexpr (std::is_same_v<T, precision::tf32>)
    return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0xffffe000u);
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int>(v);
  else if constexpr (std::is_same_v<T, double>)
    return v;
  else
    return static_cast<float>(v);
}

template <class A, class B, class C, class D>
struct Slot {
  const A* a;
  const B* b;
  const C* c;
  D* d;
};

}  // namespace of_convscope

template <class Use, int m, int n, int k, class T, class Layout, class V>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, V value) {
  for (auto& element : f.x) element = static_cast<typename StorageOf<T>::type>(value);
}

template <class Use, int m, int n, int k, class T, class Layout>
__forceinline__ void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const typename StorageOf<T>::type* from,
                                      unsigned ldm, const Site& at = Site::current()) {
  static_assert(!std::is_void_v<Layout>, "an accumulator is loaded with a layout_t");
  of_convscope::together("wmma::load_matrix_sync", at);
  of_convscope::each_element(
      f, from, ldm, std::is_same_v<Layout, row_major>,
      [](auto& element, const auto& place) __attribute__((always_inline)) { element = place; });
}
template <int m, int n, int k, class T>
__forceinline__ void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* from, unsigned ldm,
                                      layout_t layout, const Site& at = Site::current()) {
  of_convscope::together("wmma::load_matrix_sync", at);
  of_convscope::each_element(
      f, from, ldm, layout == mem_row_major,
      [](auto& element, const auto& place) __attribute__((always_inline)) { element = place; });
}
template <int m, int n, int k, class T>
__forceinline__ void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& f, unsigned ldm, layout_t layout,
                                       const Site& at = Site::current()) {
  of_convscope::together("wmma::store_matrix_sync", at);
  of_convscope::each_element(
      f, to, ldm, layout == mem_row_major,
      [](const auto& element, auto& place) __attribute__((always_inline)) { place = element; });
}

// d = a · b + c, of which d and c may be one.
template <int m, int n, int k, class TA, class LA, class TB, class LB, class TC, class TD>
CONVSCOPE_UNTRACED void mma_sync(fragment<accumulator, m, n, k, TD>& d, const fragment<matrix_a, m, n, k, TA, LA>& a,
                                 const fragment<matrix_b, m, n, k, TB, LB>& b,
                                 const fragment<accumulator, m, n, k, TC>& c, const Site& at = Site::current()) {
  static_assert(std::is_same_v<TA, TB>, "both factors have one type");
  using Slot = of_convscope::Slot<fragment<matrix_a, m, n, k, TA, LA>, fragment<matrix_b, m, n, k, TB, LB>,
                                  fragment<accumulator, m, n, k, TC>, fragment<accumulator, m, n, k, TD>>;
  Slot slot{&a, &b, &c, &d};
  convscope::simt::collective(
      ~0u, &slot,
      [](void* const* lanes, uint32_t) CONVSCOPE_UNTRACED {
        using Sum = decltype(of_convscope::wide<TA>(typename StorageOf<TA>::type{}));
        Sum left[m][k], right[k][n];
        for (int e = 0; e < m * k; e++)
          left[e / k][e % k] = of_convscope::wide<TA>(static_cast<Slot*>(lanes[e % 32])->a->x[e / 32]);
        for (int e = 0; e < k * n; e++)
          right[e / n][e % n] = of_convscope::wide<TB>(static_cast<Slot*>(lanes[e % 32])->b->x[e / 32]);
        for (int e = 0; e < m * n; e++) {
          auto* own = static_cast<Slot*>(lanes[e % 32]);
          Sum sum = static_cast<Sum>(own->c->x[e / 32]);
          for (int i = 0; i < k; i++) sum += left[e / n][i] * right[i][e % n];
          own->d->x[e / 32] = static_cast<TD>(sum);
        }
      },
      "wmma::mma_sync", at);
}

inline float __float_to_tf32(float v) { return __uint_as_float(to_tf32(v)); }

}  // namespace nvcuda::wmma
