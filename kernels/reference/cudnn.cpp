#include "kernels/reference/cudnn.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/reference/cudnn_ways.h"
#include "kernels/runtime/cuda/cuda_device.h"
#include "kernels/runtime/cuda/driver.h"

namespace convscope {
namespace cudnn {

std::string beyond_limits(const ConvProblem& p) {
  // cuDNN counts positions and elements in int (cuDNN documentation, "cudnnSetTensor4dDescriptor": 2 giga-elements).
  constexpr int64_t most = std::numeric_limits<int>::max();
  struct Size {
    const char* what;
    __int128 value;
  };
  using Wide = __int128;
  for (const Size& s :
       {Size{"the input's N·Cin·L", p.x_elements()}, Size{"the weights' Cin·(Cout/groups)·K", p.w_elements()},
        Size{"the output's N·Cout·Lout", p.y_elements()},
        Size{"dilation·(kernel_size − 1) + 1", Wide{p.dilation} * (p.kernel_size - 1) + 1},
        Size{"Lout + 2·padding", Wide{p.out_length()} + 2 * p.padding}})
    if (s.value > most)
      return fmt::format("cuDNN counts in 32 bits: {} = {} is beyond {}", s.what,
                         grouped(static_cast<int64_t>(s.value)), grouped(most));
  if (p.output_padding >= p.stride && p.output_padding > p.padding)
    return fmt::format(
        "cuDNN takes an output_padding that is not below stride = {} only up to padding = {}: this one is {}", p.stride,
        p.padding, p.output_padding);
  return "";
}

namespace {

constexpr size_t most_tried = 4;  // ways that are timed against each other

// Everything that depends on the problem alone; kept until another problem comes.
struct Prepared {
  ConvProblem problem;
  std::unique_ptr<Way> convolution, bias;  // bias: null without one
  std::unique_ptr<DeviceMemory> workspace;
};

class CuDnn final : public Reference {
 public:
  CuDnn(Device& device, bool tf32) : device_(dynamic_cast<cuda::CudaDevice*>(&device)), tf32_(tf32) {
    where_ = device.info().name;
  }
  ~CuDnn() override {
    try {
      if (device_ && handle_) device_->make_current();
    } catch (const std::exception&) {
      // A GPU that broke: what is left goes with the process.
    }
  }

  std::string name() const override { return tf32_ ? "cudnn-tf32" : "cudnn"; }
  std::string idea() const override {
    return tf32_ ? "cuDNN's transposed convolution with TF32 allowed, as PyTorch uses it unless told otherwise"
                 : "cuDNN's transposed convolution in full precision, with TF32 forbidden";
  }
  std::string version() const override { return library_state().version; }
  bool may_use_tf32() const override { return tf32_; }
  std::string what_ran() const override { return what_ran_; }

  std::string unavailable() const override {
    auto [what, how] = lacking();
    return what.empty() ? "" : what + "; " + how;
  }

  std::string unsupported(const ConvProblem& p) const override {
    if (auto why = unavailable(); !why.empty()) return why;
    if (auto e = convscope::check(p)) return e->what();
    if (prepared_ && prepared_->problem == p) return "";
    if (tf32_ && p.dtype != DType::f32)
      return fmt::format("TF32 stands in for f32 only: for {} there is the reference cudnn", name_of(p.dtype));
    if (auto why = beyond_limits(p); !why.empty()) return why;
    try {
      return ways(p).refusal;
    } catch (const DeviceError& e) {
      if (e.poisoned()) throw;
      return e.what();
    }
  }

  void run(const ConvProblem& p, const Bindings& at, Activity* activity) override {
    prepare(p, at, activity);
    if (activity) activity->phase("running " + name(), 1);
    issue(*prepared_, at);
    cuda::check(cuda::driver().cuStreamSynchronize(device_->stream()), "cuDNN's convolution");
    note_what_ran();
    if (activity) activity->advance();
  }

  // Counted: the convolution and, where there is one, the pass that adds the bias, as PyTorch runs them.
  Timing time(const ConvProblem& p, const Bindings& at, bool cold, const TimingOptions& options,
              Activity* activity) override {
    prepare(p, at, activity);
    if (activity) activity->phase("timing " + name());
    note_what_ran();
    return device_->time_work([&] { issue(*prepared_, at); }, cold, options, activity);
  }

 private:
  // What is missing and what to do about it.
  std::pair<std::string, std::string> lacking() const {
    if (!device_)
      return {"cuDNN needs an NVIDIA GPU, and this is the " + where_, "use --device cuda on a machine with one"};
    return {library_state().missing, library_state().how};
  }

  cudnnContext* handle() const {
    device_->make_current();
    if (!handle_) handle_ = make_handle(device_->stream());
    return handle_.get();
  }

  // All ways cuDNN has for p, found once for as long as p stays the same.
  Ways& ways(const ConvProblem& p) const {
    if (found_ && found_->first == p) return found_->second;
    found_.reset();
    Ways w;
    if (p.output_padding < p.stride) w = legacy_ways(handle(), p, tf32_);
    if (w.list.empty()) {
      Ways graph = graph_ways(handle(), p, tf32_, most_tried);
      if (!graph.list.empty() || w.refusal.empty()) w = std::move(graph);
    }
    found_.emplace(p, std::move(w));
    return found_->second;
  }

  void issue(const Prepared& prepared, const Bindings& at) const {
    Addresses addresses{at.x, at.w, at.b, at.y};
    prepared.convolution->issue(handle_.get(), addresses, prepared.workspace ? prepared.workspace->address() : 0);
    if (prepared.bias) prepared.bias->issue(handle_.get(), addresses, 0);
  }

  void note_what_ran() {
    what_ran_ = prepared_->convolution->what();
    if (prepared_->bias && is_half(prepared_->problem.dtype))
      what_ran_ += fmt::format("; the bias is added in a second pass: {} is rounded twice",
                               convscope::name_of(prepared_->problem.dtype));
    const char* no_tf32 = std::getenv("NVIDIA_TF32_OVERRIDE");
    if (tf32_ && no_tf32 && std::string_view(no_tf32) == "0") what_ran_ += "; NVIDIA_TF32_OVERRIDE=0 forbids TF32";
  }

  void prepare(const ConvProblem& p, const Bindings& at, Activity* activity) {
    if (auto [what, how] = lacking(); !what.empty()) throw MissingError(what, how);
    require_legal(p);
    device_->make_current();
    if (activity) activity->check();
    if (auto why = unsupported(p); !why.empty()) throw InputError("reference", name(), "cannot be used: " + why);
    for (uint64_t address : {at.x, at.w, at.b, at.y})
      if (address % 16) throw DeviceError("cuDNN is given a tensor that does not begin at a multiple of 16 bytes");
    if (prepared_ && prepared_->problem == p) return;
    prepared_.reset();  // its workspace goes before a new one is taken
    if (activity) activity->phase("choosing an algorithm of cuDNN");
    prepared_ = choose(p, at, activity);
  }

  std::unique_ptr<Prepared> choose(const ConvProblem& p, const Bindings& at, Activity* activity) {
    auto list = std::move(ways(p).list);
    found_.reset();
    Failures failures;
    auto best = fastest(list, at, failures, activity);
    if (!best && p.output_padding < p.stride) {  // the legacy call promised what it could not do
      list = graph_ways(handle(), p, tf32_, most_tried).list;
      best = fastest(list, at, failures, activity);
    }
    if (!best && !failures.last.empty())
      throw DeviceError("no algorithm of cuDNN ran; of the last one: " + failures.last);
    if (!best)
      throw InputError("memory", bytes_text(failures.too_much),
                       fmt::format("needed by cuDNN for its workspace, but {} has {} free", where_,
                                   bytes_text(device_->free_memory())));
    auto prepared = std::make_unique<Prepared>();
    prepared->problem = p;
    prepared->workspace = workspace_of(*best);
    prepared->convolution = std::move(best);
    if (p.bias) prepared->bias = bias_way(p);
    return prepared;
  }

  struct Failures {
    std::string last;       // why the last way that failed did
    uint64_t too_much = 0;  // the least workspace that there was no room for; 0: there always was
  };

  // The fastest way that works, of the first few in cuDNN's own order; null when none does. cuDNN's heuristics are made
  // for images and know nothing of lines; a comparison should not be won by their mistake.
  std::unique_ptr<Way> fastest(std::vector<std::unique_ptr<Way>>& list, const Bindings& at, Failures& failures,
                               Activity* activity) {
    std::unique_ptr<Way> best;
    double best_ms = std::numeric_limits<double>::infinity();
    size_t worked = 0;
    for (auto& way : list) {
      if (worked == most_tried) break;
      if (activity) activity->check();
      uint64_t need = way->workspace_bytes();
      if (need > device_->free_memory()) {
        failures.too_much = failures.too_much ? std::min(failures.too_much, need) : need;
        continue;
      }
      try {
        double ms = trial_ms(*way, at, list.size() > 1, activity);
        worked++;
        if (ms < best_ms) {
          best_ms = ms;
          best = std::move(way);
        }
      } catch (const DeviceError& e) {
        if (e.poisoned()) throw;
        failures.last = e.what();
      }
    }
    return best;
  }

  // Runs a way once, waits, and times it where there is something to choose.
  double trial_ms(Way& way, const Bindings& at, bool timed, Activity* activity) const {
    Addresses addresses{at.x, at.w, at.b, at.y};
    auto workspace = workspace_of(way);
    auto* on = handle();
    auto once = [&] { way.issue(on, addresses, workspace ? workspace->address() : 0); };
    auto wait = [&] { cuda::check(cuda::driver().cuStreamSynchronize(device_->stream()), "trying " + way.what()); };
    try {
      once();
    } catch (const DeviceError&) {
      wait();  // what it issued may use the workspace, and a fault of the GPU says more than cuDNN does
      throw;
    }
    wait();
    if (!timed) return 0;
    return device_->time_work(once, false, {.min_samples = 3, .max_samples = 5, .time_cap_ms = 20}, activity).min_ms();
  }

  std::unique_ptr<DeviceMemory> workspace_of(const Way& way) const {
    return way.workspace_bytes() ? device_->allocate(way.workspace_bytes()) : nullptr;
  }

  cuda::CudaDevice* device_;  // null: not a GPU
  bool tf32_;
  std::string where_;
  // In this order, so that what was made with the handle goes before it.
  mutable Handle handle_{nullptr, nullptr};
  mutable std::optional<std::pair<ConvProblem, Ways>> found_;
  std::unique_ptr<Prepared> prepared_;
  std::string what_ran_;
};

}  // namespace
}  // namespace cudnn

std::unique_ptr<Reference> make_cudnn(Device& device, bool tf32) {
  return std::make_unique<cudnn::CuDnn>(device, tf32);
}

}  // namespace convscope
