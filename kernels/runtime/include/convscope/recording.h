// How launches of host code (host_code.h) become a plan. Host compiler only.
#pragma once
#include <concepts>
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

// What a call did, until it is known which of its tensors is the result. Memory is numbered from call to call: what
// host code keeps from one (static tensors) is told from what it took in this one.
inline thread_local int next_number = first_made;
struct Recording {
  int first = next_number < 1 << 19 ? next_number : next_number = first_made;
  struct Places {
    std::vector<size_t> in_workspace;  // of what was taken, by its number
    int first = first_made;            // the first number of this call
    int result = 0;                    // the number of the memory that is y; 0: none of it
    Plan* plan = nullptr;
  };
  int64_t given[5] = {};       // bytes of the problem's tensors
  std::vector<int64_t> taken;  // bytes
  std::vector<std::function<void(Plan&, const Places&)>> launches;
};
inline thread_local Recording* recording = nullptr;

inline Recording& now() {
  if (!recording) refuse("its host code launches something outside of the function that is called");
  return *recording;
}
inline uint64_t take(int64_t bytes) {
  if (bytes < 0 || bytes >> place_bits) refuse("its host code takes ", bytes, " bytes");
  now().taken.push_back(bytes);
  next_number = now().first + static_cast<int>(now().taken.size());
  return address_of(next_number - 1);
}

// A pointer of the host code as an argument of the plan.
inline TensorRef tensor_at(uint64_t address, const Recording::Places& places) {
  const int what = what_of(address);
  const auto place = static_cast<int64_t>(address & ((uint64_t{1} << place_bits) - 1));
  switch (what) {
    case x:
      return {::convscope::Tensor::x, place};
    case w:
      return {::convscope::Tensor::w, place};
    case b:
      return {::convscope::Tensor::b, place};
    case y:
      return {::convscope::Tensor::y, place};
    default:
      break;
  }
  if (const Variable* v = variable_at(address)) return places.plan->variable(v->own, place);
  const int number = what - places.first;
  if (what >= first_made && number < 0)
    refuse("its host code keeps memory from one call to the next (static); each call is judged by itself");
  if (number < 0 || number >= static_cast<int>(places.in_workspace.size()))
    refuse("its host code gives a kernel a pointer that is no tensor's");
  if (what == places.result) return {::convscope::Tensor::y, place};
  return {::convscope::Tensor::workspace,
          static_cast<int64_t>(places.in_workspace[static_cast<size_t>(number)]) + place};
}
// Whether a word of a struct is a tensor's address: its upper bits are none that numbers are likely to have. Also of
// memory that is kept from an earlier call, which tensor_at() refuses.
inline bool is_address(uint64_t word, const Recording::Places& places) {
  const int what = what_of(word), end = places.first + static_cast<int>(places.in_workspace.size());
  return (what >= x && what <= y) || (what >= first_made && what < end) || variable_at(word);
}
template <class P>
auto argument(const P& value, const Recording::Places& places) {
  if constexpr (std::is_pointer_v<P>) {
    const auto address = reinterpret_cast<uint64_t>(value);
    return address ? tensor_at(address, places) : TensorRef{::convscope::Tensor::none, 0};
  } else if constexpr (std::is_class_v<P> && std::is_trivially_copyable_v<P> && alignof(P) >= alignof(void*)) {
    HoldsTensors<P> found{value, {}};
    // What lies between its members may be left of anything.
    __builtin_clear_padding(&found.value);
    for (size_t i = 0; i + 8 <= sizeof(P); i += 8) {
      uint64_t word;
      __builtin_memcpy(&word, reinterpret_cast<const char*>(&found.value) + i, 8);
      if (is_address(word, places)) found.held.push_back({i, tensor_at(word, places)});
    }
    return found;
  } else {
    return value;
  }
}

inline Shape shape_of(const Dim3& d) { return {d.x, d.y, d.z}; }
template <std::integral T>
Shape shape_of(T n) {
  return {static_cast<int64_t>(n), 1, 1};
}

// A function's name in the device code, of the mangled name of Tag<function>: the program names nvcc's symbols by the
// same rule (kernels/runtime/compile/for_gpu.h).
CONVSCOPE_SIMT_API std::string name_in_device_code(const char* tag);
template <auto F>
struct Tag {};
template <auto F>
const char* name_of_function() {
  static const std::string name = name_in_device_code(typeid(Tag<F>).name());
  return name.c_str();
}

// kernel<<<grid, block, shared, stream>>>(…)
template <auto F>
class Launching;
template <class... P, void (*F)(P...)>
class Launching<F> {
 public:
  template <class G, class B>
  Launching(const G& grid, const B& block, size_t shared = 0, cudaStream_t = nullptr)
      : grid_(shape_of(grid)), block_(shape_of(block)), shared_(shared) {}
  void operator()(P... given) const {
    if (shared_ > 49152) {
      const auto it = dynamic_allowed().find(reinterpret_cast<const void*>(F));
      if (it == dynamic_allowed().end() || static_cast<size_t>(it->second) < shared_)
        refuse("its host code launches ", name_of_function<F>(), " with ", shared_,
               " bytes of dynamic shared memory; more than 49152 need cudaFuncSetAttribute");
    }
    now().launches.push_back(
        [=, grid = grid_, block = block_, shared = shared_](Plan& plan, const Recording::Places& places) {
          plan.launch(TypedEntry<F>{name_of_function<F>()}, grid, block, shared).args(argument(given, places)...);
        });
  }

 private:
  Shape grid_, block_;
  size_t shared_;
};

// Whether an address is one of a tensor, or of memory that was taken or declared; else it is the host's own.
inline bool on_device(uint64_t address) {
  const int what = what_of(address);
  return (what >= x && what <= y) || (what >= first_made && what < next_number) || variable_at(address);
}

// What is copied must be there: a GPU says cudaErrorInvalidValue, or copies what lies behind it.
inline void check_room(uint64_t address, int64_t bytes, const char* doing) {
  const int what = what_of(address), number = what - now().first;
  const auto place = static_cast<int64_t>(address & ((uint64_t{1} << place_bits) - 1));
  constexpr const char* names[] = {"", "x", "w", "b", "y"};
  int64_t all = 0;
  std::string name = "memory that it took";
  if (const Variable* v = variable_at(address))
    all = v->own.bytes, name = v->own.name;
  else if (what <= y)
    all = now().given[what], name = names[what];
  else if (number >= 0 && number < static_cast<int>(now().taken.size()))
    all = now().taken[static_cast<size_t>(number)];
  else
    return;  // of an earlier call: tensor_at() refuses it
  if (place + bytes <= all) return;
  const std::string from = place ? joined(" at byte ", place) : "";
  refuse("its host code copies ", bytes, " bytes ", doing, " ", name, from, ", which has ", all);
}

// What is noted down for memory that the file declares, and for bytes of the host: they are other kernels than those
// that copy tensors, since a launch that is looked at alone needs them before it.
template <auto F, class From>
void note(uint64_t to, From from, int64_t bytes, int64_t threads) {
  now().launches.push_back([=](Plan& plan, const Recording::Places& places) {
    auto launch = plan.launch(TypedEntry<F>{name_of_function<F>()}, Shape{ceil_div(threads, 256)}, Shape{256});
    auto* place = reinterpret_cast<unsigned char*>(to);
    if (variable_at(to))
      launch.fill(bytes, argument(place, places), argument(from, places), static_cast<long long>(bytes));
    else
      launch.args(argument(place, places), argument(from, places), static_cast<long long>(bytes));
  });
}

inline void check_variable(uint64_t to) {
  if (const Variable* v = variable_at(to); v && v->fixed)
    refuse("its host code fills ", v->own.name, ", which is declared const: the compiler may take its first value");
}

inline void clear(uint64_t address, int64_t bytes) {
  if (!address || bytes <= 0) return;
  if (variable_at(address)) {
    check_variable(address), check_room(address, bytes, "into");
    return note<&convscope_fill>(address, static_cast<const unsigned char*>(nullptr), bytes, ceil_div(bytes, 4));
  }
  if (bytes % 2) refuse("its host code clears an odd number of bytes");
  Launching<&convscope_clear>(ceil_div(bytes / 2, 256), 256)(reinterpret_cast<unsigned short*>(address), bytes / 2);
}

// Bytes of the host, whose values are known: in the arguments of launches.
inline void set(uint64_t to, const unsigned char* from, int64_t bytes) {
  constexpr int64_t most = 65536;
  if (bytes > most)
    refuse("its host code copies ", bytes, " bytes of its own to the GPU; up to ", most, " are noted down");
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(sizeof(convscope_bytes))) {
    convscope_bytes part{};
    const int64_t n = std::min(bytes - at, static_cast<int64_t>(sizeof part));
    __builtin_memcpy(part.all, from + at, static_cast<size_t>(n));
    note<&convscope_set>(to + static_cast<uint64_t>(at), part, n, 1);
  }
}

inline void copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device) {
  if (bytes <= 0) return;
  if (!on_device(to)) refuse("its host code copies from the GPU to the host; its tensors have no values there");
  check_variable(to), check_room(to, bytes, "into");
  if (!on_device(from)) {
    if (!from) refuse("its host code copies from a null pointer");
    if (between_device) refuse("its host code copies memory of the host with cudaMemcpyDeviceToDevice");
    return set(to, reinterpret_cast<const unsigned char*>(from), bytes);
  }
  check_room(from, bytes, "out of");
  if (variable_at(to))
    return note<&convscope_fill>(to, reinterpret_cast<const unsigned char*>(from), bytes, ceil_div(bytes, 4));
  if (bytes % 2) refuse("its host code copies an odd number of bytes");
  Launching<&convscope_copy>(ceil_div(bytes / 2, 256), 256)(reinterpret_cast<unsigned short*>(to),
                                                            reinterpret_cast<const unsigned short*>(from), bytes / 2);
}

// The problem's tensors as host code is given them.
class Given {
 public:
  explicit Given(const ConvProblem& p)
      : type_(p.dtype == DType::f32   ? ScalarType::Float
              : p.dtype == DType::f64 ? ScalarType::Double
              : p.dtype == DType::f16 ? ScalarType::Half
                                      : ScalarType::BFloat16),
        shapes_{{},
                {p.batch, p.in_channels, p.length},
                {p.in_channels, p.out_channels / p.groups, p.kernel_size},
                {p.out_channels},
                {p.batch, p.out_channels, p.out_length()}},
        bias_(p.bias) {}
  Tensor tensor(Role role) const {
    return role == b && !bias_ ? Tensor() : Tensor(address_of(role), shapes_[role], type_);
  }
  std::optional<Tensor> maybe(Role role) const {
    return role == b && !bias_ ? std::nullopt : std::optional<Tensor>(tensor(role));
  }
  struct Pointer {
    uint64_t address;
    template <class T>
    operator T*() const {
      return reinterpret_cast<T*>(address);
    }
  };
  Pointer pointer(Role role) const { return {tensor(role).address()}; }
  int64_t bytes(Role role) const { return tensor(role).nbytes(); }

 private:
  ScalarType type_;
  Sizes shapes_[5];
  bool bias_;
};

inline const Tensor& result_of(const Tensor& t) { return t; }
inline const Tensor& result_of(const std::vector<Tensor>& all) {
  if (all.empty()) refuse("its host code returns no tensor");
  return all.front();
}

// Calls the host code for a problem and notes what it launches. Errors: std::runtime_error, and what the host code
// throws.
template <class Call>
void record(const ConvProblem& p, Plan& plan, Call call) {
  Recording own;
  struct Scope {
    Recording* before;
    explicit Scope(Recording* r) : before(std::exchange(recording, r)) {}
    ~Scope() { recording = before; }
  } scope(&own);
  const Given given(p);
  for (Role role : {x, w, b, y}) own.given[role] = given.bytes(role);
  Recording::Places places;
  places.first = own.first, places.plan = &plan;
  if constexpr (!std::is_void_v<decltype(call(p, given))>) {
    const Tensor result = result_of(call(p, given));
    places.result = what_of(result.address());
    if (places.result != y && places.result < first_made) refuse("its host code returns a tensor that it was given");
    if (result.dim() != 3 || result.size(0) != p.batch || result.size(1) != p.out_channels) {
      const std::string sizes = said(result.sizes());
      refuse("its host code returns a tensor of sizes ", sizes.substr(1, sizes.size() - 2), "; [", p.batch, ", ",
             p.out_channels, ", …] belongs");
    }
    if (result.size(2) != p.out_length()) plan.out_length(result.size(2));
  } else {
    call(p, given);
  }
  size_t workspace = 0;
  for (size_t i = 0; i < own.taken.size(); i++) {
    places.in_workspace.push_back(workspace);
    if (own.first + static_cast<int>(i) != places.result)
      workspace += (static_cast<size_t>(own.taken[i]) + 255) / 256 * 256;
  }
  plan.need_workspace(workspace);
  if (own.launches.empty()) refuse("its host code launches nothing");
  for (const auto& launch : own.launches) launch(plan, places);
}

// Why the host code does not take a problem, or "".
template <class Call>
std::string refused(const ConvProblem& p, Call call) {
  try {
    Plan plan(p);
    record(p, plan, call);
    return "";
  } catch (const std::exception& e) {
    const std::string own = e.what();
    return own.starts_with("its host code ") || own.find(" is not compiled here ") != own.npos
               ? own
               : "is refused by its host code: " + (own.empty() ? "it says no why" : own);
  }
}

}  // namespace convscope::host
