// What a kernel's text calls in the place of its names, numbers and operators where every one of them can be another,
// one at a time and without compiling again (mutant schemata: Untch, Offutt and Harrold, ISSTA 1993). Which is another
// is written into a table by its place ("site"); 0: it is as the text has it. Made by compile/edit_sites.h.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "convscope/intrinsics.h"
#include "convscope/simt.h"

namespace convscope::edits {

inline constexpr size_t most_sites = 4096;

struct State {
  std::array<uint16_t, most_sites> chosen{};
  std::array<uint8_t, most_sites> seen{};  // that whole numbers went through, of those that were to be noted
  bool any = false;
  int64_t fuel = INT64_MAX;  // sites that may still be passed: an edit may make a loop endless
};
inline constexpr uint16_t noted = 0xffff;  // in the place of an edit: nothing is edited, and the site is noted
CONVSCOPE_SIMT_API extern State state;
// Ends the launch, or what makes the plan. Errors: always, KernelFault in the end or std::runtime_error.
[[noreturn]] CONVSCOPE_SIMT_API void give_up();
// Whether an address is a tensor's, or is in shared memory or on the thread's stack: elsewhere an edited index would
// harm the program itself.
CONVSCOPE_SIMT_API bool may_use(const void* address);

template <class T>
inline constexpr bool is_number = std::is_integral_v<std::remove_cvref_t<T>>;

// A site is passed in a few instructions: thousands of edits are tried, and all but one site are as they were.
#define CONVSCOPE_EDIT [[gnu::always_inline]] inline
#define CONVSCOPE_EDITED [[gnu::noinline, gnu::cold]]

// Which edit: as /value/ is numbered, and as the others are.
enum Value : unsigned { plus_one = 1, minus_one, doubled, halved, plus_two, first_of_other = 8 };
enum Other : unsigned { itself, plus, minus, times, reversed, divided, rest, others };  // of one that is named instead
enum Arithmetic : unsigned { add = 1, subtract, multiply, divide, modulo, left, right, floored, ceiled };
enum Comparing : unsigned { less = 1, at_most, more, at_least, equal, unequal, always, not_negative, first_below = 16 };
enum Logic : unsigned { exchanged = 1, left_alone, right_alone };
enum Store : unsigned { other_way = 1, atomically };
// Of a condition that is lacking: the number of its place, and the extent that this is to be below; 0: no less than 0.
enum Guard : unsigned { first_guard = 16, guards = 64 };
enum Barrier : unsigned { of_block = 1, of_warp };

CONVSCOPE_EDIT unsigned chosen(unsigned site) {
  if (--state.fuel < 0) [[unlikely]]
    give_up();
  return state.chosen[site];
}
// Of one that is chosen; 0: it was noted.
CONVSCOPE_EDITED inline unsigned told(unsigned site, unsigned edit) {
  if (edit != noted) return edit;
  state.seen[site] = 1;
  return 0;
}

inline int64_t quotient(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) give_up();
  return a / b;
}
inline int64_t remainder(int64_t a, int64_t b) { return a - quotient(a, b) * b; }
inline int64_t floor_quotient(int64_t a, int64_t b) {
  return quotient(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0));
}

template <class T>
CONVSCOPE_EDIT int64_t number(const T& t) {
  if constexpr (is_number<T>) return static_cast<int64_t>(t);
  return 0;
}

// all: what the site names, as numbers.
CONVSCOPE_EDITED inline int64_t another(unsigned site, unsigned edit, int64_t own, std::initializer_list<int64_t> all) {
  edit = told(site, edit);
  if (!edit) return own;
  if (edit == plus_one) return own + 1;
  if (edit == minus_one) return own - 1;
  if (edit == doubled) return own * 2;
  if (edit == halved) return own / 2;
  if (edit == plus_two) return own + 2;
  const unsigned at = (edit - first_of_other) / others;
  const int64_t v = at < all.size() ? all.begin()[at] : 0;
  switch ((edit - first_of_other) % others) {
    case itself:
      return v;
    case plus:
      return own + v;
    case minus:
      return own - v;
    case times:
      return own * v;
    case reversed:
      return v - 1 - own;
    case divided:
      return quotient(own, v);
    default:
      return remainder(own, v);
  }
}

// A name, a number or a whole expression; c: what may stand there instead, or be added to it.
template <class T, class... C>
CONVSCOPE_EDIT auto value(unsigned site, T&& own, const C&... c)
    -> std::conditional_t<is_number<T>, std::remove_cvref_t<T>, T&&> {
  if constexpr (is_number<T>) {
    const unsigned edit = chosen(site);
    if (edit) [[unlikely]]
      return static_cast<std::remove_cvref_t<T>>(another(site, edit, number(own), {number(c)...}));
    return own;
  } else {
    return static_cast<T&&>(own);
  }
}

template <unsigned op, class L, class R>
CONVSCOPE_EDIT auto applied(const L& l, const R& r) {
  if constexpr ((op == divide || op == modulo) && is_number<L> && is_number<R>)
    if (r == 0 && state.any) [[unlikely]]
      give_up();
  if constexpr (op == add) return l + r;
  if constexpr (op == subtract) return l - r;
  if constexpr (op == multiply) return l * r;
  if constexpr (op == divide) return l / r;
  if constexpr (op == modulo) return l % r;
}

// op: as it is written. In the type in which the two are computed.
template <class T>
CONVSCOPE_EDITED T other_arithmetic(unsigned site, unsigned edit, unsigned op, T a, T b) {
  edit = told(site, edit);
  const bool floors_rest = edit == floored && op == modulo;
  switch (edit ? edit : op) {
    case add:
      return static_cast<T>(a + b);
    case subtract:
      return static_cast<T>(a - b);
    case multiply:
      return static_cast<T>(a * b);
    case divide:
      if (b == 0) give_up();
      return static_cast<T>(a / b);
    case modulo:
      if (b == 0) give_up();
      return static_cast<T>(a % b);
    case left:
      return a;
    case right:
      return b;
    case floored:
      if (floors_rest) return static_cast<T>(number(a) - floor_quotient(number(a), number(b)) * number(b));
      return static_cast<T>(floor_quotient(number(a), number(b)));
    default:
      return static_cast<T>(quotient(number(a) + number(b) - 1, number(b)));
  }
}
template <unsigned op, class L, class R>
CONVSCOPE_EDIT auto arithmetic(unsigned site, const L& l, const R& r) {
  if constexpr (is_number<L> && is_number<R>) {
    using T = decltype(l + r);
    const unsigned edit = chosen(site);
    if (edit) [[unlikely]]
      return other_arithmetic<T>(site, edit, op, static_cast<T>(l), static_cast<T>(r));
    return static_cast<T>(applied<op>(l, r));
  } else {
    return applied<op>(l, r);
  }
}

template <unsigned op, class L, class R>
CONVSCOPE_EDIT bool compared(const L& l, const R& r) {
  // A pointer with the number 0.
  if constexpr ((op == equal || op == unequal) && std::is_pointer_v<L> && is_number<R>)
    return (l == nullptr) == (op == equal);
  else if constexpr (op == less)
    return l < r;
  else if constexpr (op == at_most)
    return l <= r;
  else if constexpr (op == more)
    return l > r;
  else if constexpr (op == at_least)
    return l >= r;
  else if constexpr (op == equal)
    return l == r;
  else
    return l != r;
}

// In the type in which the two are compared; own: what comes out as it is written.
template <class T>
CONVSCOPE_EDITED bool other_comparison(unsigned site, unsigned edit, bool own, T l, T r, int64_t left,
                                       std::initializer_list<int64_t> all) {
  switch (edit = told(site, edit); edit) {
    case 0:
      return own;
    case less:
      return l < r;
    case at_most:
      return l <= r;
    case more:
      return l > r;
    case at_least:
      return l >= r;
    case equal:
      return l == r;
    case unequal:
      return l != r;
    case always:
      return true;
    case not_negative:
      return own && left >= 0;
    default: {
      const unsigned at = edit - first_below;
      return own && left < (at < all.size() ? all.begin()[at] : 0);
    }
  }
}
template <unsigned op, class L, class R, class... C>
CONVSCOPE_EDIT bool comparison(unsigned site, const L& l, const R& r, const C&... c) {
  if constexpr (is_number<L> && is_number<R>) {
    using T = decltype(l + r);
    const unsigned edit = chosen(site);
    if (edit) [[unlikely]]
      return other_comparison<T>(site, edit, compared<op>(l, r), static_cast<T>(l), static_cast<T>(r), number(l),
                                 {number(c)...});
  }
  return compared<op>(l, r);
}

template <bool is_and, class L, class R>
CONVSCOPE_EDIT bool logic(unsigned site, L l, R r) {
  unsigned edit = chosen(site);
  if (edit) [[unlikely]] {
    switch (edit = told(site, edit); edit) {
      case 0:
        break;
      case left_alone:
        return static_cast<bool>(l());
      case right_alone:
        return static_cast<bool>(r());
      default:
        return is_and ? l() || r() : l() && r();
    }
  }
  return is_and ? l() && r() : l() || r();
}

// a = b, or a += b where adds.
template <bool adds, class A, class B>
CONVSCOPE_EDIT void store(unsigned site, A&& a, const B& b) {
  unsigned edit = chosen(site);
  if (edit) [[unlikely]] {
    edit = told(site, edit);
    if (edit == atomically) {
      if constexpr (requires { atomicAdd(&a, static_cast<std::remove_cvref_t<A>>(b)); }) {
        atomicAdd(&a, static_cast<std::remove_cvref_t<A>>(b));
        return;
      }
      give_up();
    }
    if (edit) {
      if constexpr (adds)
        a = b;
      else if constexpr (requires { a += b; })
        a += b;
      return;
    }
  }
  if constexpr (adds)
    a += b;
  else
    a = b;
}

CONVSCOPE_UNTRACED inline void barrier(unsigned site, const simt::Site& at = simt::Site::current()) {
  const unsigned edit = chosen(site);
  if (edit == of_block) __syncthreads(at);
  if (edit == of_warp) __syncwarp(0xffffffffu, at);
}

// Of the others: whether it is made.
CONVSCOPE_EDIT bool made(unsigned site) {
  const unsigned edit = chosen(site);
  return edit && told(site, edit);
}

template <class T>
CONVSCOPE_EDIT void set_to_zero(T& t) {
  if constexpr (std::is_arithmetic_v<T>)
    t = 0;
  else if constexpr (std::is_array_v<T>)
    for (auto& one : t) set_to_zero(one);
}
template <class T>
CONVSCOPE_EDIT void clear(unsigned site, T& t) {
  if (made(site)) [[unlikely]]
    set_to_zero(t);
}

// Whether to go no further: a/b leaves a rest; v is no place of any of these.
template <class A, class B>
CONVSCOPE_EDIT bool leaves_rest(unsigned site, const A& a, const B& b) {
  if constexpr (is_number<A> && is_number<B>)
    if (made(site)) [[unlikely]]
      return remainder(number(a), number(b)) != 0;
  return false;
}
CONVSCOPE_EDITED inline bool is_beyond(unsigned site, int64_t v, std::initializer_list<int64_t> all) {
  const unsigned edit = told(site, state.chosen[site]);
  return edit && edit <= all.size() && v >= all.begin()[edit - 1];
}
template <class V, class... C>
CONVSCOPE_EDIT bool beyond(unsigned site, const V& v, const C&... c) {
  if (!chosen(site)) [[likely]]
    return false;
  return is_beyond(site, number(v), {number(c)...});
}

// Whether `own` holds, and what may be lacking beside it; place: that of its places which has this number.
template <class P>
CONVSCOPE_EDITED bool within(unsigned site, const P& place, std::initializer_list<int64_t> all) {
  const unsigned edit = told(site, state.chosen[site]);
  if (edit < first_guard) return true;
  const int64_t v = place((edit - first_guard) / guards);
  const unsigned extent = (edit - first_guard) % guards;
  return extent == 0 ? v >= 0 : extent <= all.size() && v < all.begin()[extent - 1];
}
template <class O, class P, class... C>
CONVSCOPE_EDIT bool guarded(unsigned site, const O& own, const P& place, const C&... c) {
  if (!chosen(site)) [[likely]]
    return static_cast<bool>(own);
  return static_cast<bool>(own) && within(site, place, {number(c)...});
}

// A sum with a * of + b in it, `of` the first of all: with b * another + a, which is the one that is edited in.
template <class P>
CONVSCOPE_EDITED int64_t exchanged_pair(unsigned site, int64_t own, const P& both, std::initializer_list<int64_t> all) {
  const unsigned edit = told(site, state.chosen[site]);
  if (!edit || edit > all.size()) return own;
  int64_t a = 0, b = 0;
  both(a, b);
  return own - (a * all.begin()[0] + b) + b * all.begin()[edit - 1] + a;
}
template <class T, class P, class... C>
CONVSCOPE_EDIT auto pairing(unsigned site, T&& own, const P& both, const C&... c)
    -> std::conditional_t<is_number<T>, std::remove_cvref_t<T>, T&&> {
  if constexpr (is_number<T>) {
    if (chosen(site)) [[unlikely]]
      return static_cast<std::remove_cvref_t<T>>(exchanged_pair(site, number(own), both, {number(c)...}));
    return own;
  } else {
    return static_cast<T&&>(own);
  }
}

// Of a launch's shape, whether the other part of it stands in its place.
template <class A, class B>
CONVSCOPE_EDIT dim3 shape(unsigned site, const A& own, const B& other) {
  return made(site) ? dim3(other) : dim3(own);
}

// a[i], that an edited index leaves no array with which it could harm anything.
template <class A, class I>
CONVSCOPE_EDIT decltype(auto) at(A&& a, const I& i) {
  if constexpr (is_number<I>) {
    if (state.any) {
      if constexpr (std::is_array_v<std::remove_reference_t<A>>) {
        constexpr size_t n = std::extent_v<std::remove_reference_t<A>>;
        if (n && static_cast<uint64_t>(i) >= n) give_up();
      } else if constexpr (std::is_pointer_v<std::remove_reference_t<A>>) {
        if (!may_use(a + i)) give_up();
      }
    }
  }
  return static_cast<A&&>(a)[i];
}

}  // namespace convscope::edits
