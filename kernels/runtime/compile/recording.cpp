// Calls host code of kernel files and makes a plan of what it launches (convscope/recording.h).
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "convscope/host_calls.h"
#include "kernels/runtime/compile/for_gpu.h"
#include "kernels/runtime/compile/later_calls.h"
#include "kernels/runtime/compile/not_followed.h"
#include "kernels/runtime/compile/noted.h"
#include "kernels/runtime/compile/python_run.h"
#include "kernels/runtime/compile/streams.h"

namespace convscope::host {
namespace {

// Memory is numbered from call to call: what host code keeps from one (static tensors) is told from what it took in
// this one.
thread_local int next_number = first_made;

constexpr const char* role_names[] = {"", "x", "w", "b", "y"};  // by Role

struct Noted {
  Callee kernel;
  Shape grid, block;
  size_t shared_bytes;
  std::vector<std::pair<Handed::Kind, Argument>> arguments;
  int64_t fills_bytes;
  std::string refused;
};

// Memory that a call took.
struct Taken {
  int64_t bytes;
  int tensors = 0;       // that have it
  bool is_gone = false;  // they had it, or it was given back
  bool by_free = false;  // by cudaFree
  size_t gone_at = 0;    // how much had been taken when that was
};

// What a call did, until it is known which of its tensors is the result.
struct Recording {
  const Variable* last_variable = nullptr;
  int first = next_number < 1 << 19 ? next_number : next_number = first_made;  // the first number of this call
  int64_t given[5] = {};                                                       // bytes of the problem's tensors
  std::vector<Taken> taken;
  std::vector<Noted> launches;
  Streams streams;
  uintptr_t current_stream = 0;
  bool is_later = false, keeps = false;  // as Call has them
  int64_t element = 1;                   // bytes of one of the problem's tensors
  std::string doubt, fault;
  std::vector<std::string> notes;
};
thread_local Recording* recording = nullptr;

Recording& now() {
  if (!recording) refuse("its host code launches something outside of the function that is called");
  return *recording;
}

struct Allowed {
  std::mutex mutex;
  std::map<const void*, int> bytes;
};
Allowed& allowed() {
  static auto* a = new Allowed;
  return *a;
}

// The memory of the call that is noted down in which an address lies; null: none of it.
Taken* taken_at(uint64_t address) {
  const int number = recording ? what_of(address) - recording->first : -1;
  return number >= 0 && number < static_cast<int>(recording->taken.size())
             ? &recording->taken[static_cast<size_t>(number)]
             : nullptr;
}

int64_t place_of(uint64_t address) { return static_cast<int64_t>(address & (of_the_cpu - 1)); }

const Variable* variable_at(uint64_t address) {
  const int number = what_of(address) - first_variable;
  if (number < 0) return nullptr;
  const Variable* v = now().last_variable;
  while (v && v->number != number) v = v->before;
  return v;
}

const Variable& variable_of(const void* symbol) {
  for (const Variable* v = now().last_variable; v; v = v->before)
    if (v->on_host == symbol) return *v;
  refuse("its host code names a variable for a copy that is no __constant__ or __device__ memory of the file");
}

// A kernel's name in the device code, for good: entries hold it as text without an owner.
const char* name_of(const Callee& kernel) {
  static std::mutex mutex;
  static auto* names = new std::map<std::string, std::string>;
  std::lock_guard lock(mutex);
  const auto known = names->find(kernel.tag);
  return (known != names->end() ? known : names->emplace(kernel.tag, name_in_device_code(kernel.tag)).first)
      ->second.c_str();
}

// What was taken lies in the workspace, but for what is returned, which is y.
struct Places {
  std::vector<size_t> in_workspace;  // of what was taken, by its number
  int result = 0;                    // the number of the memory that is y; 0: none of it
};

// A pointer of the host code as an argument of the plan.
TensorRef tensor_at(uint64_t address, const Places& places, Plan& plan) {
  using Of = ::convscope::Tensor;
  const int what = what_of(address);
  const int64_t place = place_of(address);
  if (what == x) return {Of::x, place};
  if (what == w) return {Of::w, place};
  if (what == b) return {Of::b, place};
  if (what == y) return {Of::y, place};
  if (const Variable* v = variable_at(address))
    return plan.variable({v->name, v->on_host, v->bytes, v->constant}, place);
  const int number = what - now().first;
  if (what >= first_made && number < 0 && now().is_later) return now().keeps = true, TensorRef{Of::none, 0};
  if (what >= first_made && number < 0)
    refuse("its host code keeps memory from one call to the next (static); each call is judged by itself");
  if (number < 0 || number >= static_cast<int>(places.in_workspace.size()))
    refuse("its host code gives a kernel a pointer that is no tensor's");
  if (what == places.result) return {Of::y, place};
  return {Of::workspace, static_cast<int64_t>(places.in_workspace[static_cast<size_t>(number)]) + place};
}

Argument with_tensors(Handed::Kind kind, Argument a, const Places& places, Plan& plan) {
  if (kind == Handed::plain) return a;
  for (size_t i = 0; i + 8 <= a.size; i += 8) {
    uint64_t word;
    std::memcpy(&word, a.value.data() + i, 8);
    if (kind == Handed::pointer) {
      a.is_tensor = true;
      a.tensor = word ? tensor_at(word, places, plan) : TensorRef{::convscope::Tensor::none, 0};
    } else if (on_device(word)) {
      // Its upper bits are none that numbers are likely to have. Also memory that is kept from an earlier call, which
      // tensor_at() refuses.
      a.held.push_back({i, tensor_at(word, places, plan)});
    }
  }
  return a;
}

}  // namespace

void allow_dynamic(const void* function, int bytes) {
  std::lock_guard lock(allowed().mutex);
  allowed().bytes[function] = bytes;
}

void keep(uint64_t address) {
  if (Taken* t = taken_at(address)) t->tensors++;
}
void let_go(uint64_t address) {
  if (Taken* t = taken_at(address); t && --t->tensors == 0) t->is_gone = true, t->gone_at = recording->taken.size();
}
void give_back(uint64_t address) {
  if (Taken* t = taken_at(address)) t->is_gone = t->by_free = true, t->gone_at = recording->taken.size();
}

namespace {

// PyTorch's allocator has what is gone on its lists at once, apart for what is small and what is not
// (c10/cuda/CUDACachingAllocator.cpp, kSmallSize), and work on one stream is done in order: so nothing is lost until
// something else is taken.
void look_at_what_is_gone(const Taken& gone, const char* kernel) {
  constexpr int64_t small = 1 << 20;
  Recording& r = now();
  if (gone.by_free) {
    r.fault = joined("gives ", kernel, " memory that cudaFree() has given back");
    return;
  }
  size_t next = gone.gone_at;
  while (next < r.taken.size() && (r.taken[next].bytes <= small) != (gone.bytes <= small)) next++;
  const std::string what = joined("gives ", kernel,
                                  " a pointer to the memory of a tensor that is gone (data_ptr() of a temporary: the "
                                  "tensor needs a name that lives until the launch)");
  if (next < r.taken.size())
    r.fault = joined(what, ", where PyTorch may have put what is taken next, ", r.taken[next].bytes, " bytes");
  else
    note("its host code " + what + "; nothing is taken in between, so PyTorch's allocator leaves it as it is");
}

}  // namespace

void note(std::string words) {
  if (!recording || std::find(recording->notes.begin(), recording->notes.end(), words) != recording->notes.end())
    return;
  recording->notes.push_back(std::move(words));
}
namespace {

// How many launches are given a pointer into the memory at an address.
size_t launches_given(uint64_t address) {
  const auto is_given = [&](const Noted& l) {
    for (const auto& [kind, a] : l.arguments)
      for (size_t i = 0; kind != Handed::plain && i + 8 <= a.size; i += 8) {
        uint64_t word;
        std::memcpy(&word, a.value.data() + i, 8);
        if (what_of(word) == what_of(address)) return true;
      }
    return false;
  };
  const auto& all = recording->launches;
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), is_given));
}

}  // namespace

bool launches_take(int role) { return recording && launches_given(address_of(role)) > 0; }
size_t launches_so_far() { return recording ? recording->launches.size() : 0; }

uint64_t take(int64_t bytes) {
  if (bytes < 0 || bytes >> (place_bits - 1))
    refuse("its host code allocates ", static_cast<uint64_t>(bytes), " bytes, which no GPU has");
  now().taken.push_back({.bytes = bytes});
  next_number = now().first + static_cast<int>(now().taken.size());
  return address_of(next_number - 1);
}

void note_launch(const Callee& kernel, const Shape& grid, const Shape& block, size_t shared_bytes, uintptr_t stream,
                 std::initializer_list<Handed> arguments, int64_t fills_bytes) {
  Noted launch{kernel, grid, block, shared_bytes, {}, fills_bytes, ""};
  if (shared_bytes > 49152) {
    std::lock_guard lock(allowed().mutex);
    const auto it = allowed().bytes.find(kernel.function);
    if (it == allowed().bytes.end() || static_cast<size_t>(it->second) < shared_bytes)
      launch.refused =
          joined(shared_bytes, " bytes of dynamic shared memory; more than 49152 need cudaFuncSetAttribute");
  }
  for (const Handed& h : arguments) {
    Argument a;
    a.size = h.bytes;
    std::memcpy(a.value.data(), h.value, h.bytes);
    // Our own kernels stand for what PyTorch does there.
    const bool own = std::string_view(kernel.tag).find("convscope_") != std::string_view::npos;
    for (size_t i = 0; !own && h.kind != Handed::plain && i + 8 <= h.bytes; i += 8) {
      uint64_t word;
      std::memcpy(&word, a.value.data() + i, 8);
      if (const Taken* t = taken_at(word); t && t->is_gone) look_at_what_is_gone(*t, name_of(kernel));
      if (on_device(word) && word & of_the_cpu)
        launch.refused = joined(
            "is given a tensor on the CPU, which a GPU cannot reach: it was made without a device, "
            "as torch::empty({…}, torch::kFloat32) is, or by cpu()");
    }
    launch.arguments.emplace_back(h.kind, std::move(a));
  }
  now().launches.push_back(std::move(launch));
  now().streams.launch(stream);
}

namespace {

struct KnownKernels {
  std::mutex mutex;
  std::map<const void*, Callee> at;
};
KnownKernels& known_kernels() {
  static auto* all = new KnownKernels;  // modules note theirs whenever they are loaded
  return *all;
}

}  // namespace

void note_kernel(const Callee& kernel) {
  std::lock_guard lock(known_kernels().mutex);
  known_kernels().at[kernel.function] = kernel;
}
Callee kernel_at(const void* function) {
  std::lock_guard lock(known_kernels().mutex);
  const auto it = known_kernels().at.find(function);
  if (it == known_kernels().at.end())
    refuse(function ? "its host code launches what is no kernel of the file" : "its host code launches a null pointer");
  return it->second;
}

// What is done with them outside of a call orders nothing of one.
uintptr_t current_stream() { return recording ? recording->current_stream : 0; }
uintptr_t set_current_stream(uintptr_t stream) {
  return recording ? std::exchange(recording->current_stream, stream) : 0;
}
void record_event(uintptr_t event, uintptr_t stream) {
  if (recording) recording->streams.record(event, stream);
}
void wait_for_event(uintptr_t stream, uintptr_t event) {
  if (recording) recording->streams.wait_event(stream, event);
}
void synchronize(uintptr_t stream) {
  if (recording) recording->streams.synchronize(stream);
}
void synchronize_event(uintptr_t event) {
  if (recording) recording->streams.synchronize_event(event);
}
void synchronize_all() {
  if (recording) recording->streams.synchronize_all();
}

bool is_variable(uint64_t address) { return variable_at(address) != nullptr; }
uint64_t address_of_variable(const void* symbol) { return address_of(first_variable + variable_of(symbol).number); }
int64_t bytes_of_variable(const void* symbol) { return variable_of(symbol).bytes; }

bool on_device(uint64_t address) {
  const int what = what_of(address);
  return (what >= x && what <= y) || (what >= first_made && what < next_number) || variable_at(address);
}

bool Tensor::is_all_of_its_memory() const {
  const int what = what_of(address_), number = what - now().first;
  const bool own = number >= 0 && number < static_cast<int>(now().taken.size());
  return place_of(address_) == 0 && (!own || now().taken[static_cast<size_t>(number)].bytes == nbytes());
}

void check_room(uint64_t address, int64_t bytes, const char* doing) {
  const int what = what_of(address), number = what - now().first;
  const int64_t place = place_of(address);
  int64_t all = 0;
  std::string name = "memory that it took";
  if (const Variable* v = variable_at(address))
    all = v->bytes, name = v->name;
  else if (what <= y)
    all = now().given[what], name = role_names[what];
  else if (number >= 0 && number < static_cast<int>(now().taken.size()))
    all = now().taken[static_cast<size_t>(number)].bytes;
  else
    return;  // of an earlier call: tensor_at() refuses it
  if (place + bytes <= all) return;
  const std::string from = place ? joined(" at byte ", place) : "";
  refuse("its host code copies ", bytes, " bytes ", doing, " ", name, from, ", which has ", all);
}

void check_variable(uint64_t to) {
  if (const Variable* v = variable_at(to); v && v->fixed)
    refuse("its host code fills ", v->name, ", which is declared const: the compiler may take its first value");
}

namespace {

// A tensor's elements are counted where its bytes belong.
void look_at_bytes(const char* does, uint64_t address, int64_t bytes) {
  const int what = what_of(address);
  if (what < x || what > y || place_of(address) || now().element == 1) return;
  if (bytes * now().element == now().given[what])
    now().doubt = joined("its host code ", does, " ", bytes, bytes == 1 ? " byte of " : " bytes of ", role_names[what],
                         ", whose ", bytes, bytes == 1 ? " element has " : " elements have ", now().element,
                         " bytes each: the rest of it is not reached");
}

}  // namespace

void check_clear(uint64_t address, int64_t bytes) { look_at_bytes("clears", address, bytes); }

void check_copy(uint64_t to, uint64_t from, int64_t bytes, bool between_device) {
  if (!on_device(to)) refuse("its host code copies from the GPU to the host; its tensors have no values there");
  check_variable(to), check_room(to, bytes, "into");
  look_at_bytes("fills", to, bytes);
  if (on_device(from)) return look_at_bytes("copies", from, bytes), check_room(from, bytes, "out of");
  if (!from) refuse("its host code copies from a null pointer");
  if (between_device) refuse("its host code copies memory of the host with cudaMemcpyDeviceToDevice");
}

void check_status(int64_t status) {
  if (status) refuse("it returns ", status);
}

Given::Given(const ConvProblem& p)
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
Tensor Given::tensor(Role role) const {
  return role == b && !bias_ ? Tensor()
                             : Tensor(role == w && weights_ ? weights_ : address_of(role), shapes_[role], type_);
}
std::optional<Tensor> Given::maybe(Role role) const {
  return role == b && !bias_ ? std::nullopt : std::optional<Tensor>(tensor(role));
}
Given::Pointer Given::pointer(Role role) const { return {tensor(role).address()}; }

namespace {

// "its output has sizes [2, 3, 300], where [2, 6, 300] belongs: Cout/groups channels"
std::string shape_words(const ConvProblem& p, const Tensor& y) {
  auto is = [&](int64_t n, int64_t c, int64_t l) {
    return y.dim() == 3 && y.size(0) == n && y.size(1) == c && (l < 0 || y.size(2) == l);
  };
  const int64_t N = p.batch, Cout = p.out_channels, any = -1;
  const char* means = is(N, p.out_length(), Cout)     ? ": channels and positions are exchanged"
                      : is(N, p.out_per_group(), any) ? ": Cout/groups channels"
                      : is(N, p.in_channels, any)     ? ": as many channels as x has"
                      : is(1, Cout, any)              ? ": one sequence"
                      : is(N, Cout * p.groups, any)   ? ": Cout·groups channels"
                                                      : "";
  return "its output has sizes " + said(y.sizes()) + ", where " + said({N, Cout, p.out_length()}) + " belongs" + means;
}

}  // namespace

void record(const ConvProblem& p, Plan& plan, const Called& host_code) {
  if (later_calls(host_code).afresh) restore_statics(host_code);
  Call call;
  record_call(p, plan, host_code, call);
}

void record_call(const ConvProblem& p, Plan& plan, const Called& host_code, Call& call) {
  Recording own;
  own.is_later = call.later;
  own.last_variable = *host_code.variables;
  struct Scope {
    Recording* before;
    explicit Scope(Recording* r) : before(std::exchange(recording, r)) {}
    ~Scope() { recording = before; }
  } scope(&own);
  Given given(p);
  for (Role role : {x, w, b, y}) own.given[role] = given.bytes(role);
  if (call.other_weights) given.move_weights(take(given.bytes(w)));
  own.element = static_cast<int64_t>(size_of(p.dtype));
  Places places;
  if (host_code.returns) {
    Tensor result;
    try {
      result = host_code.returns(p, given);
    } catch (const WrongWeights& e) {
      return plan.wrong_shape(e.what());
    }
    places.result = what_of(result.address());
    if (places.result != y && places.result < first_made) refuse("its host code returns a tensor that it was given");
    if (result.is_cpu()) return plan.wrong_shape("its output is on the CPU, where its input is on the GPU");
    if (result.dim() != 3 || result.size(0) != p.batch || result.size(1) != p.out_channels)
      return plan.wrong_shape(shape_words(p, result));
    if (result.size(2) != p.out_length()) plan.out_length(result.size(2));
  } else {
    host_code.does(p, given);
  }
  const LaterCalls later = later_calls(host_code);
  if (own.doubt.empty()) own.doubt = later.doubt;
  if (own.fault.empty()) own.fault = later.fault;
  if (!later.note.empty()) note(later.note);
  if (!own.doubt.empty()) plan.doubt(own.doubt);
  if (!own.fault.empty()) plan.fault(own.fault);
  for (std::string& note : own.notes) plan.note(std::move(note));
  size_t workspace = 0;
  for (size_t i = 0; i < own.taken.size(); i++) {
    places.in_workspace.push_back(workspace);
    if (own.first + static_cast<int>(i) != places.result)
      workspace += (static_cast<size_t>(own.taken[i].bytes) + 255) / 256 * 256;
  }
  plan.need_workspace(workspace);
  if (own.launches.empty()) refuse("its host code launches nothing");
  call.launches = own.launches.size(), call.of_weights = launches_given(given.tensor(w).address());
  for (Noted& l : own.launches) {
    const size_t number = plan.begin_launch({name_of(l.kernel), l.kernel.loop}, l.grid, l.block, l.shared_bytes);
    for (auto& [kind, argument] : l.arguments) plan.add(number, with_tensors(kind, std::move(argument), places, plan));
    plan.bound_threads(number, l.kernel.most_threads);
    if (!l.refused.empty()) plan.refuse_launch(number, l.refused);
    plan.end_launch(number, l.fills_bytes);
    // Who returns a tensor gives it to what its caller launches next; who is given y may leave the waiting to others.
    plan.order_launch(number, own.streams.beside(number),
                      !host_code.returns || own.streams.ended_for(own.current_stream, number),
                      own.streams.follows_caller(number));
  }
  call.keeps = own.keeps;
}

std::string refused_as(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const FailsInPyTorch& e) {
    return std::string(fails_in_pytorch) + e.what();
  } catch (const NotFollowedHere& e) {
    return std::string(not_followed_here) + e.what();
  } catch (const std::exception& e) {
    const std::string own = e.what();
    // What a module has no parameter for, or is made with, is no refusal of its code.
    const bool itself =
        own.starts_with("takes no ") || own.starts_with("always has ") || own.starts_with("is made in ");
    return itself || own.starts_with("its host code ") || own.find(" is not compiled here ") != own.npos
               ? own
               : "is refused by its host code: " + (own.empty() ? "it says no why" : own);
  }
}

}  // namespace convscope::host
