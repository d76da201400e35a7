// How launches of host code (host_code.h) become a plan. Host compiler only. What can be is done in the program
// (kernels/runtime/compile/recording.cpp): here is what needs the types of a file's kernels.
#pragma once
#include <concepts>
#include <initializer_list>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "convscope/variables.h"

// CUDA's dim3 is made of a number and of a uint3 as well; the emulator's is plain data.
namespace convscope::host {
struct Dim3 : dim3 {
  constexpr Dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : dim3{nx, ny, nz} {}
  constexpr Dim3(const dim3& d) : dim3(d) {}
  constexpr Dim3(const uint3& d) : dim3{d.x, d.y, d.z} {}
};
}  // namespace convscope::host
#define dim3 ::convscope::host::Dim3

namespace convscope::host {

template <class P>
Handed handed(P& value) {
  // Vector types have a copy constructor of their own, and so has a struct that holds one.
  static_assert(sizeof(P) <= Argument::max_value && std::is_trivially_destructible_v<P>);
  constexpr auto kind = std::is_pointer_v<P>                                 ? Handed::pointer
                        : std::is_class_v<P> && alignof(P) >= alignof(void*) ? Handed::words
                                                                             : Handed::plain;
  // What lies between its members may be left of anything.
  if constexpr (kind == Handed::words && std::is_trivially_copyable_v<P>) __builtin_clear_padding(&value);
  return {kind, &value, sizeof value};
}

template <auto F>
struct Tag {};
template <auto F>
Callee callee(int64_t most_threads) {
  return {typeid(Tag<F>).name(), reinterpret_cast<const void*>(F), &simt::Loop<F>::run, most_threads};
}

inline Shape shape_of(const Dim3& d) { return {d.x, d.y, d.z}; }
template <std::integral T>
Shape shape_of(T n) {
  return {static_cast<int64_t>(n), 1, 1};
}

// kernel<<<grid, block, shared, stream>>>(…)
template <auto F>
class Launching;
template <class... P, void (*F)(P...)>
class Launching<F> {
 public:
  template <class G, class B>
  Launching(const G& grid, const B& block, size_t shared = 0, cudaStream_t stream = nullptr)
      : grid_(shape_of(grid)), block_(shape_of(block)), shared_(shared), stream_(reinterpret_cast<uintptr_t>(stream)) {}
  // In braces, of which nothing is deduced: <<<{blocks, channels}, {128, 1, 1}>>>.
  Launching(const Dim3& grid, const Dim3& block, size_t shared = 0, cudaStream_t stream = nullptr)
      : grid_(shape_of(grid)), block_(shape_of(block)), shared_(shared), stream_(reinterpret_cast<uintptr_t>(stream)) {}
  Launching& bounded(int64_t most_threads) {
    most_threads_ = most_threads;
    return *this;
  }
  void operator()(P... given) const { fill(0, given...); }
  void fill(int64_t bytes, P... given) const {
    note_launch(callee<F>(most_threads_), grid_, block_, shared_, stream_, {handed(given)...}, bytes);
  }

 private:
  Shape grid_, block_;
  size_t shared_;
  uintptr_t stream_;
  int64_t most_threads_ = 0;
};

// Of a kernel whose bounds are known (__launch_bounds__), where its template's arguments are deduced.
template <auto F, int64_t most_threads>
class Bounded : public Launching<F> {
 public:
  template <class... A>
  explicit Bounded(const A&... given) : Launching<F>(given...) {
    this->bounded(most_threads);
  }
};

// Of a kernel by the address that a variable holds: what is known of it is noted where its name stands (known<k<3>>()).
template <auto F, int64_t most_threads>
inline const bool noted_kernel = (note_kernel(callee<F>(most_threads)), true);
template <auto F, int64_t most_threads = 0>
constexpr auto known() {
  (void)&noted_kernel<F, most_threads>;
  return F;
}
template <class... P>
class LaunchingAt {
 public:
  LaunchingAt(void (*function)(P...), Shape grid, Shape block, size_t shared, uintptr_t stream)
      : function_(reinterpret_cast<const void*>(function)),
        grid_(grid),
        block_(block),
        shared_(shared),
        stream_(stream) {}
  void operator()(P... given) const {
    note_launch(kernel_at(function_), grid_, block_, shared_, stream_, {handed(given)...});
  }

 private:
  const void* function_;
  Shape grid_, block_;
  size_t shared_;
  uintptr_t stream_;
};
template <class... P, class G, class B>
LaunchingAt<P...> launching(void (*function)(P...), const G& grid, const B& block, size_t shared = 0,
                            cudaStream_t stream = nullptr) {
  return {function, shape_of(grid), shape_of(block), shared, reinterpret_cast<uintptr_t>(stream)};
}

inline const Tensor& result_of(const Tensor& t) { return t; }
inline const Tensor& result_of(const std::vector<Tensor>& all) {
  if (all.empty()) refuse("its host code returns no tensor");
  return all.front();
}
template <class... More>
const Tensor& result_of(const std::tuple<Tensor, More...>& all) {
  return std::get<0>(all);
}

// The host code's function, whatever it returns: a tensor, several, a status, nothing.
template <auto call>
Called called() {
  using Result = decltype(call(ConvProblem(), Given(ConvProblem())));
  if constexpr (requires(Result r) { result_of(r); })
    return {[](const ConvProblem& p, const Given& given) { return result_of(call(p, given)).alone(); }, nullptr,
            &last_declared};
  else {
    static_assert(!std::is_class_v<Result>,
                  "host code returns a tensor, several in a vector, a number or nothing; say in a line which function: "
                  "// convscope: call FUNCTION args=…");
    return {nullptr,
            [](const ConvProblem& p, const Given& given) {
              if constexpr ((std::is_integral_v<Result> || std::is_enum_v<Result>)&&!std::is_same_v<Result, bool>)
                check_status(static_cast<int64_t>(call(p, given)));
              else
                call(p, given);
            },
            &last_declared};
  }
}

}  // namespace convscope::host
