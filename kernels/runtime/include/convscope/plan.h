// How a kernel file says what it is and how it is launched: its registration and its plan (host compiler only).
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "convscope/simt.h"
#include "kernels/problem/conv_problem.h"

namespace convscope {

namespace simt {

// A __global__ function as the emulator runs it: loop(args) runs threads of the current block until none is left to
// start.
struct Entry {
  const char* name;
  void (*loop)(void* const* args);
  bool operator==(const Entry&) const = default;
};

// The thread that ran has ended. True: threadIdx is now another thread's that has not run yet.
CONVSCOPE_SIMT_API bool next_thread();

template <auto F>
struct Loop;
template <class... P, void (*F)(P...)>
struct Loop<F> {
#if defined(CONVSCOPE_COPIES) && !defined(CONVSCOPE_TRACED)
  static void run(void* const* args) {
    constexpr auto all = std::index_sequence_for<P...>{};
    if (is_for<2, 3>(args, all)) return copy_for<2, 3>(args, all);  // KernelBench #79
    if (is_for<1, 5>(args, all)) return copy_for<1, 5>(args, all);  // #74
    if (is_for<1, 3>(args, all)) return copy_for<1, 3>(args, all);  // #64
    go(args, all);
  }

 private:
  // Copies of a small kernel whose stride and number of taps the compiler knows. A kernel that asks for each tap
  // whether the stride divides spends most of its time on divisions by a variable.
  template <int64_t S, int64_t K, size_t... I>
  [[gnu::flatten, gnu::optimize("O3")]] static void copy_for(void* const* args, std::index_sequence<I...>) {
    do F(with<S, K, std::remove_const_t<P>>(args[I])...);
    while (next_thread());
  }
  template <int64_t S, int64_t K, class T>
  static T with(void* argument) {
    T copy = *static_cast<T*>(argument);
    if constexpr (std::is_same_v<T, ConvArgs>) copy.stride = S, copy.kernel_size = K;
    return copy;
  }
  template <int64_t S, int64_t K, size_t... I>
  static bool is_for(void* const* args, std::index_sequence<I...>) {
    const ConvArgs* c = nullptr;
    ((std::is_same_v<std::remove_const_t<P>, ConvArgs> ? void(c = static_cast<const ConvArgs*>(args[I])) : void()),
     ...);
    return c && c->stride == S && c->kernel_size == K;
  }
#else
  CONVSCOPE_UNTRACED static void run(void* const* args) { go(args, std::index_sequence_for<P...>{}); }

 private:
#endif
  template <size_t... I>
  CONVSCOPE_UNTRACED static void go(void* const* args, std::index_sequence<I...>) {
    do F(*static_cast<std::remove_const_t<P>*>(args[I])...);
    while (next_thread());
  }
};

}  // namespace simt

// A tensor of the problem as a launch argument: known by role until the runtime has its address. none: a null pointer.
// variable: __constant__ or __device__ memory that the kernel's file declares, which one Plan::variables() says.
enum class Tensor : uint8_t { x, w, b, y, workspace, none, variable };
struct TensorRef {
  Tensor tensor;
  int64_t offset_bytes = 0;
  size_t variable = 0;
};

// A tensor of 4-byte or 2-byte elements as the bulk-copy engine reads or writes it: a parameter of type TensorMap takes
// one, and the runtime encodes it when it has the address (cuTensorMapEncodeTiled). Innermost dimension first; what
// lies outside reads as zero and is not written.
struct TensorView {
  TensorRef tensor;
  int rank = 0;
  std::array<int64_t, 5> sizes{}, stride_bytes{};  // stride_bytes[0] is the element's own size
  std::array<int32_t, 5> box{};                    // what one copy moves
  bool swizzled = false;                           // boxes in shared memory have the 128-byte swizzle
};

// One argument of a launch: a tensor's address, a view of a tensor, or a plain value, which may hold tensors'
// addresses.
struct Argument {
  static constexpr size_t max_value = 256;
  struct Held {
    size_t at;  // bytes from the value's beginning, where the address stands
    TensorRef tensor;
  };
  bool is_tensor = false, is_view = false;
  TensorRef tensor{};
  TensorView view{};
  size_t size = 0;
  alignas(64) std::array<std::byte, max_value> value{};
  std::vector<Held> held;

  // f(TensorRef) for each tensor that the kernel is given by it.
  template <class F>
  void each_tensor(F f) const {
    if (is_view) f(view.tensor);
    if (is_tensor) f(tensor);
    for (const Held& h : held) f(h.tensor);
  }
};

// A launch shape before it is checked: 64 bits, so that a problem too large for a grid is refused and not truncated.
struct Shape {
  int64_t x = 1, y = 1, z = 1;
  int64_t count() const { return x * y * z; }
};

struct Launch {
  simt::Entry entry;
  Shape grid, block;
  size_t dynamic_shared_bytes = 0;
  std::vector<Argument> arguments;
  bool early = false;     // on a GPU it may begin before the launch before it has ended, for which it waits by itself
  bool in_order = false;  // blocks wait for blocks of lower numbers, which a GPU starts first
  bool packs = false;     // works on weights alone: it packs them, which inference does once
  // Not 0: copies so many bytes into a variable, the first argument; from the second, which is a tensor, the bytes
  // themselves, or a null pointer for zeros. Launches behind it need them, also where one is run alone.
  int64_t fills_bytes = 0;
  std::string refused;  // why a GPU does not start it, as far as its plan knows
  // Of host code that uses several streams: the launches before it in the plan that nothing orders before it, and
  // whether what its caller does next waits for it, and it for what its caller did before. Here all run in order.
  std::vector<uint32_t> beside;
  bool waited_for = true, follows_caller = true;

  bool is_given(Tensor t) const {
    bool found = false;
    for (const Argument& a : arguments) a.each_tensor([&](const TensorRef& r) { found |= r.tensor == t; });
    return found;
  }
};

template <auto F>
struct TypedEntry {
  const char* name;
};
#define ENTRY(function) (::convscope::TypedEntry<&function>{#function})

inline bool packs(const Launch& l) { return l.packs; }

// What runs for one problem: plain data, made without a device. Launches run in order on one stream.
// Much of it is in the program (kernels/runtime/plan.cpp): kernel files are compiled while their writer waits.
class Plan {
 public:
  CONVSCOPE_SIMT_API explicit Plan(const ConvProblem& p);
  CONVSCOPE_SIMT_API Plan(const Plan&);
  CONVSCOPE_SIMT_API Plan(Plan&&) noexcept;
  CONVSCOPE_SIMT_API Plan& operator=(const Plan&);
  CONVSCOPE_SIMT_API Plan& operator=(Plan&&) noexcept;
  CONVSCOPE_SIMT_API ~Plan();

  TensorRef x() const { return {Tensor::x}; }
  TensorRef w() const { return {Tensor::w}; }
  TensorRef b() const { return {Tensor::b}; }  // becomes a null pointer when the problem has no bias
  TensorRef y() const { return {Tensor::y}; }
  TensorRef workspace(size_t offset_bytes = 0) const { return {Tensor::workspace, static_cast<int64_t>(offset_bytes)}; }

  // plan.launch(ENTRY(f), grid, block, dynamic_shared_bytes).args(…): one argument for each of f's parameters, checked
  // when the kernel file is compiled.
  template <auto F>
  class Pending;
  template <class... P, void (*F)(P...)>
  class Pending<F> {
   public:
    Pending(Plan& plan, size_t launch) : plan_(plan), launch_(launch) {}
    // The kernel has griddepcontrol.wait before it touches memory, which launches before it write (sm_90; CUDA
    // Programming Guide, "Programmatic Dependent Launch").
    Pending& early() {
      plan_.launches_[launch_].early = true;
      return *this;
    }
    // Blocks wait for what blocks of lower numbers tell them: the emulator starts these first, as a GPU does.
    Pending& in_order() {
      plan_.launches_[launch_].in_order = true;
      return *this;
    }
    // What the kernel's __launch_bounds__ allow; 0: it has none.
    Pending& bounded(int64_t most_threads) {
      plan_.bound_threads(launch_, most_threads);
      return *this;
    }
    template <class... A>
    void args(const A&... a) {
      static_assert(sizeof...(A) == sizeof...(P), "a launch gives one argument for each parameter of its kernel");
      (add<P>(a), ...);
      plan_.end_launch(launch_);
    }

   private:
    template <class Parameter, class A>
    void add(const A& a) {
      if constexpr (std::same_as<A, TensorRef>) {
        static_assert(std::is_pointer_v<Parameter>, "a tensor goes to a pointer parameter");
        plan_.add(launch_, a);
      } else if constexpr (std::same_as<A, TensorView>) {
        static_assert(std::same_as<std::remove_const_t<Parameter>, TensorMap>, "a view goes to a TensorMap parameter");
        plan_.add(launch_, a);
      } else {
        static_assert(!std::is_pointer_v<Parameter>, "a pointer parameter takes a tensor of the plan");
        static_assert(sizeof(Parameter) <= Argument::max_value && std::is_trivially_destructible_v<Parameter>);
        const auto value = static_cast<std::remove_const_t<Parameter>>(a);
        plan_.add(launch_, &value, sizeof value);
      }
    }
    Plan& plan_;
    size_t launch_;
  };
  template <auto F>
  Pending<F> launch(TypedEntry<F> f, Shape grid, Shape block, size_t dynamic_shared_bytes = 0) {
    return {*this, begin_launch({f.name, &simt::Loop<F>::run}, grid, block, dynamic_shared_bytes)};
  }

  // The same in parts, for what is known when it runs: a launch's number, its arguments in order, its end.
  CONVSCOPE_SIMT_API size_t begin_launch(simt::Entry entry, const Shape& grid, const Shape& block, size_t shared_bytes);
  CONVSCOPE_SIMT_API void add(size_t launch, const TensorRef& tensor);
  CONVSCOPE_SIMT_API void add(size_t launch, const TensorView& view);
  CONVSCOPE_SIMT_API void add(size_t launch, const void* value, size_t bytes);
  void add(size_t launch, Argument argument);
  CONVSCOPE_SIMT_API void bound_threads(size_t launch, int64_t most);
  void refuse_launch(size_t launch, std::string why) { launches_[launch].refused = std::move(why); }
  void order_launch(size_t launch, std::vector<uint32_t> beside, bool waited_for, bool follows_caller) {
    Launch& l = launches_[launch];
    l.beside = std::move(beside), l.waited_for = waited_for, l.follows_caller = follows_caller;
  }
  // fills_bytes: as Launch has it.
  CONVSCOPE_SIMT_API void end_launch(size_t launch, int64_t fills_bytes = 0);

  // The launch as it would be with another grid and block: what became of it then tells what is wrong with its own.
  void reshape_launch(size_t launch, const Shape& grid, const Shape& block) {
    launches_[launch].grid = grid, launches_[launch].block = block;
  }

  // Memory that the kernel's file declares: by its name in the device code, and where the emulator has it.
  struct Variable {
    std::string name;
    void* on_host;
    int64_t bytes;
    bool constant = false;  // __constant__: it is read by way of a cache of its own
  };
  TensorRef variable(const Variable& v, int64_t offset_bytes = 0);
  const std::vector<Variable>& variables() const { return variables_; }

  // Scratch memory, 256-byte aligned, not cleared.
  void need_workspace(size_t bytes) { workspace_bytes_ = bytes; }
  // The output length this kernel works out, where it is not the problem's: y is then [N, Cout, that length].
  void out_length(int64_t n) { out_length_ = n; }

  // What its host code returns is no [N, Cout, …]: in words. Nothing is launched then.
  void wrong_shape(std::string words) { wrong_shape_ = std::move(words), launches_.clear(); }
  const std::string& wrong_shape() const { return wrong_shape_; }

  // What its host code does that hardly anybody means, in words: told where its results are wrong.
  void doubt(std::string words) { doubt_ = std::move(words); }
  const std::string& doubt() const { return doubt_; }
  // What it does to memory that is wrong on a GPU, and cannot be seen here: in words.
  void fault(std::string words) { fault_ = std::move(words); }
  const std::string& fault() const { return fault_; }
  // What is to be known beside its verdict: what was judged, or is right by chance.
  void note(std::string words) { notes_.push_back(std::move(words)); }
  const std::vector<std::string>& notes() const { return notes_; }

  const std::vector<Launch>& launches() const& { return launches_; }
  std::vector<Launch> launches() && { return std::move(launches_); }  // for (… : kernel.plan_for(p).launches())
  size_t workspace_bytes() const { return workspace_bytes_; }
  // Whether some launches pack weights, and others are left without these.
  bool packs_weights() const;
  // The plan with weights that are packed already: on a workspace in which the whole plan has run.
  Plan without_packing() const;
  // What packs them, alone.
  Plan packing() const;
  int64_t out_length() const { return out_length_; }

 private:
  void find_packing(Launch& l);
  void forget_order();
  void look_for_fills_before(size_t launch);

  std::vector<Launch> launches_;
  std::vector<Variable> variables_;
  std::vector<int64_t> parts_of_call_;  // offsets in the workspace
  size_t workspace_bytes_ = 0;
  int64_t out_length_;
  std::string wrong_shape_, doubt_, fault_;
  std::vector<std::string> notes_;
};

// Calls launch(entry) with a kernel's entry for elements of type t.
template <class F, class F32, class F64, class F16, class BF16>
void for_type(DType t, F launch, F32 f32, F64 f64, F16 f16, BF16 bf16) {
  switch (t) {
    case DType::f32:
      return launch(f32);
    case DType::f64:
      return launch(f64);
    case DType::f16:
      return launch(f16);
    case DType::bf16:
      return launch(bf16);
  }
}

// outside: of a file that was compiled while the program ran (kernels/runtime/compile).
enum class KernelKind { specimen, ladder, test, internal, outside };

// What the program knows of a kernel. Filled by the functions a CONVSCOPE_KERNEL block calls.
class CONVSCOPE_SIMT_API KernelDefinition {
 public:
  virtual ~KernelDefinition();

  const std::string& name() const { return name_; }
  const std::string& file() const { return file_; }  // kernels/ladder/direct.cu
  // Of a kernel from outside its file's text; else empty: the program carries the others' (sources.h).
  const std::string& text() const { return text_; }
  KernelKind kind() const { return kind_; }
  int rung() const { return rung_; }
  const std::string& idea() const { return idea_; }
  const std::vector<std::string>& requires_hardware() const { return hardware_; }
  // Fields of the problem that nothing of its launches is told, as far as its registration knows (kernel files from
  // outside): whatever it does has one value of them in it.
  const std::vector<std::string>& not_given() const { return not_given_; }
  // What it promises on f32 problems: strict, 3xtf32 or tf32. Of other types it is always strict.
  const std::string& accuracy() const { return accuracy_; }
  // Whether its finished sums go through activated() (activation.h).
  bool fuses_activation() const { return fuses_activation_; }
  const std::string& home_preset() const { return home_preset_; }  // specimens: the problem it was written for
  // What is known of a specimen: for which problems its wrong index happens to be right. True for every other kernel.
  bool known_right(const ConvProblem& p) const { return !right_for_ || right_for_(p); }
  // Why this kernel declares that it does not take the problem; empty if it does.
  std::string unsupported(const ConvProblem& p) const { return supports_ ? supports_(p) : std::string(); }
  // Without launches where it does not take the problem: then nothing of the kernel's own is asked.
  Plan plan_for(const ConvProblem& p) const;

  // What a kernel from outside is called here, and what it was compiled from. Before it is listed: other threads read
  // both.
  void come_from_outside(std::string name, std::string text);

 protected:
  KernelDefinition(const char* name, const char* file);

  void idea(std::string text);
  void rung(int n) { rung_ = n; }  // its place on the ladder
  void specimen(std::string home_preset, bool (*right_for)(const ConvProblem&));
  void test_only() { kind_ = KernelKind::test; }
  void internal() { kind_ = KernelKind::internal; }  // the program's own, in no list
  // Hardware features it needs (sm_90a, wgmma, tma). Those that a device does not have make it unavailable there, with
  // the reason.
  template <class... S>
  void requires_(S... features) {
    (hardware_.emplace_back(features), ...);
  }
  void not_given(std::initializer_list<const char*> fields);
  void accuracy(std::string promised);  // left out: strict
  void activates() { fuses_activation_ = true; }
  // Functions, not closures: <functional> is much to compile. The rule for the problems it takes: supports([](const
  // ConvProblem& p) -> std::string { …why not, or "" });
  void supports(std::string (*why)(const ConvProblem&)) { why_not(why); }
  template <class F>
  void supports(F) {
    why_not([](const ConvProblem& p) -> std::string { return F()(p); });
  }
  void plan(void (*make)(const ConvProblem&, Plan&));

 private:
  void why_not(std::string (*function)(const ConvProblem&));

  std::string name_, file_, text_, idea_, home_preset_, accuracy_ = "strict";
  KernelKind kind_ = KernelKind::ladder;
  int rung_ = 0;
  bool fuses_activation_ = false;
  std::vector<std::string> hardware_, not_given_;
  std::string (*supports_)(const ConvProblem&) = nullptr;
  bool (*right_for_)(const ConvProblem&) = nullptr;
  void (*plan_)(const ConvProblem&, Plan&) = nullptr;
};

// Called by static constructors of kernel files; the definition lives as long as its object file is loaded.
CONVSCOPE_SIMT_API void register_kernel(KernelDefinition* kernel, bool traced);
CONVSCOPE_SIMT_API void unregister_kernel(const KernelDefinition* kernel, bool traced);

// Integer ceiling of a/b for positive b: grids are made of it.
template <class A, class B>
constexpr int64_t ceil_div(A a, B b) {
  return (static_cast<int64_t>(a) + static_cast<int64_t>(b) - 1) / static_cast<int64_t>(b);
}

#ifdef CONVSCOPE_TRACED
inline constexpr bool compiled_traced = true;
#else
inline constexpr bool compiled_traced = false;
#endif

#define CONVSCOPE_KERNEL(kernel_name)                                                                        \
  namespace {                                                                                                \
  struct Define_##kernel_name final : ::convscope::KernelDefinition {                                        \
    Define_##kernel_name() : KernelDefinition(#kernel_name, __FILE__) {                                      \
      define();                                                                                              \
      ::convscope::register_kernel(this, ::convscope::compiled_traced);                                      \
    }                                                                                                        \
    ~Define_##kernel_name() override { ::convscope::unregister_kernel(this, ::convscope::compiled_traced); } \
    void define();                                                                                           \
  } define_##kernel_name;                                                                                    \
  }                                                                                                          \
  void Define_##kernel_name::define()

}  // namespace convscope
