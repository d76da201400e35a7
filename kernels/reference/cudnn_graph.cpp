// The graph API: one CONVOLUTION_BACKWARD_DATA operation, the engines that cuDNN's heuristics offer for it, a plan of
// each. (NVIDIA cuDNN documentation, "Backend API")
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/reference/cudnn_library.h"

namespace convscope::cudnn {
namespace {

constexpr int64_t x_id = 'x', w_id = 'w', y_id = 'y', alignment_bytes = 16;

template <class T>
void set(const BackendDescriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         std::span<const T> values) {
  check(library().cudnnBackendSetAttribute(d.get(), name, type, static_cast<int64_t>(values.size()), values.data()),
        "setting a graph attribute");
}
template <class T>
void set(const BackendDescriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const T& value) {
  set(d, name, type, std::span<const T>(&value, 1));
}
void set(const BackendDescriptor& d, cudnnBackendAttributeName_t name, const BackendDescriptor& part) {
  set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.get());
}

cudnnStatus_t finalize(const BackendDescriptor& d) { return library().cudnnBackendFinalize(d.get()); }

// The operation and all it is made of, which must live as long as anything derived from it.
struct Operation {
  BackendDescriptor x = make_backend_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  BackendDescriptor w = make_backend_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  BackendDescriptor y = make_backend_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  BackendDescriptor convolution = make_backend_descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  BackendDescriptor node = make_backend_descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  BackendDescriptor graph = make_backend_descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
};

// A contiguous tensor of `spatial` dimensions, of which all but the last are 1.
cudnnStatus_t describe_tensor(const BackendDescriptor& d, const ConvProblem& p, int64_t id, int spatial, int64_t a,
                              int64_t b, int64_t length) {
  std::vector<int64_t> dims{a, b}, strides(static_cast<size_t>(spatial) + 2, 1);
  dims.resize(static_cast<size_t>(spatial) + 1, 1);
  dims.push_back(length);
  for (size_t q = dims.size() - 1; q-- > 0;) strides[q] = strides[q + 1] * dims[q + 1];
  set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(p.dtype));
  set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const int64_t>(dims));
  set(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const int64_t>(strides));
  set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment_bytes);
  return finalize(d);
}

cudnnStatus_t describe_convolution(const BackendDescriptor& d, const ConvProblem& p, int spatial) {
  // One spatial dimension, or two of which the first is idle.
  auto idle_then = [&](int64_t idle, int64_t value) {
    std::vector<int64_t> v(static_cast<size_t>(spatial) - 1, idle);
    v.push_back(value);
    return v;
  };
  // Below the stride, output_padding is what a division loses and needs no word; beyond, it takes away right padding.
  int64_t right = p.output_padding < p.stride ? p.padding : p.padding - p.output_padding;
  auto before = idle_then(0, p.padding), after = idle_then(0, right), stride = idle_then(1, p.stride),
       dilation = idle_then(1, p.dilation);
  using Numbers = std::span<const int64_t>;
  set(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, static_cast<int64_t>(spatial));
  set(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, sum_type_of(p.dtype));
  set(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, Numbers(before));
  set(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, Numbers(after));
  set(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, Numbers(stride));
  set(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, Numbers(dilation));
  return finalize(d);
}

// "" or why cuDNN does not take p.
std::string fill(const Operation& o, const ConvProblem& p, int spatial) {
  std::string why;
  auto refused = [&](cudnnStatus_t status, const char* what) {
    if (status != CUDNN_STATUS_SUCCESS)
      why = fmt::format("cuDNN's graph API refuses {}: {}", what, status_text(status));
    return !why.empty();
  };
  if (refused(describe_tensor(o.x, p, x_id, spatial, p.batch, p.in_channels, p.length), "the input's shape") ||
      refused(describe_tensor(o.y, p, y_id, spatial, p.batch, p.out_channels, p.out_length()), "the output's shape") ||
      refused(describe_tensor(o.w, p, w_id, spatial, p.in_channels, p.out_per_group(), p.kernel_size),
              "the weights' shape") ||
      refused(describe_convolution(o.convolution, p, spatial), "padding, stride or dilation"))
    return why;
  set(o.node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, o.convolution);
  set(o.node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, o.x);
  set(o.node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, o.w);
  set(o.node, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, o.y);
  auto factor = [&](cudnnBackendAttributeName_t name, double value) {
    if (p.dtype == DType::f64)
      set(o.node, name, CUDNN_TYPE_DOUBLE, value);
    else
      set(o.node, name, CUDNN_TYPE_FLOAT, static_cast<float>(value));
  };
  factor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1);
  factor(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0);
  refused(finalize(o.node), "these shapes together");
  return why;
}

struct Engine {
  int64_t index = -1;
  bool tensor_cores = false, rounds_inputs = false, rounds_sums = false, transforms = false, order_varies = false;
};

Engine engine_of(const BackendDescriptor& configuration) {
  Engine e;
  auto engine = make_backend_descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = engine.get();  // filled in, not replaced
  int64_t count = 0;
  const Library& c = library();
  check(c.cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &count, &raw),
        "asking for an engine");
  check(c.cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &e.index),
        "asking for an engine's number");
  // A newer library may know more notes than this build.
  std::array<cudnnBackendNumericalNote_t, 64> notes{};
  check(c.cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   static_cast<int64_t>(notes.size()), &count, notes.data()),
        "asking for an engine's numerical notes");
  for (int64_t q = 0; q < std::min<int64_t>(count, notes.size()); q++)
    switch (static_cast<int>(notes[static_cast<size_t>(q)])) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        e.tensor_cores = true;
        break;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        e.rounds_inputs = true;
        break;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        e.rounds_sums = true;
        break;
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        e.transforms = true;
        break;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        e.order_varies = true;
        break;
      default:
        break;
    }
  return e;
}

class GraphWay final : public Way {
 public:
  GraphWay(std::shared_ptr<const Operation> operation, BackendDescriptor configuration, BackendDescriptor plan,
           Engine engine, int spatial)
      : operation_(std::move(operation)),
        configuration_(std::move(configuration)),
        plan_(std::move(plan)),
        engine_(engine),
        spatial_(spatial) {
    int64_t count = 0;
    check(library().cudnnBackendGetAttribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                             &count, &workspace_bytes_),
          "asking for a plan's workspace");
  }

  std::string what() const override {
    return fmt::format("graph engine {} on {}-D tensors{}, {}", engine_.index, spatial_ + 2,
                       engine_.order_varies ? " (order of sums varies)" : "",
                       engine_.tensor_cores ? "tensor cores" : "no tensor cores");
  }
  size_t workspace_bytes() const override { return static_cast<size_t>(std::max<int64_t>(0, workspace_bytes_)); }

  void issue(cudnnContext* handle, const Addresses& at, uint64_t workspace) override {
    if (!pack_ || at != at_ || workspace != workspace_) {
      pack_.reset();
      auto pack = make_backend_descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      const std::array<int64_t, 3> ids{x_id, w_id, y_id};
      auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
      const std::array<void*, 3> data{pointer(at.x), pointer(at.w), pointer(at.y)};
      set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, std::span<const int64_t>(ids));
      set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::span<void* const>(data));
      set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, pointer(workspace));
      check(finalize(pack), "naming the tensors to " + what());
      pack_.emplace(std::move(pack));
      at_ = at;
      workspace_ = workspace;
    }
    check(library().cudnnBackendExecute(handle, plan_.get(), pack_->get()), "computing with " + what());
  }

 private:
  std::shared_ptr<const Operation> operation_;
  BackendDescriptor configuration_, plan_;
  Engine engine_;
  int spatial_;
  int64_t workspace_bytes_ = 0;
  std::optional<BackendDescriptor> pack_;
  Addresses at_;
  uint64_t workspace_ = 0;
};

// The configurations that one of cuDNN's heuristics offers, best first; none when it has nothing to say.
std::vector<BackendDescriptor> offered(const Operation& o, cudnnBackendHeurMode_t mode) {
  constexpr int64_t room = 32;
  auto heuristic = make_backend_descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, o.graph);
  set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (finalize(heuristic) != CUDNN_STATUS_SUCCESS) return {};
  std::vector<BackendDescriptor> list;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t q = 0; q < room; q++) {
    list.push_back(make_backend_descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    raw.push_back(list.back().get());
  }
  int64_t count = 0;
  if (library().cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                         room, &count, raw.data()) != CUDNN_STATUS_SUCCESS)
    count = 0;
  list.erase(list.begin() + std::clamp<int64_t>(count, 0, room), list.end());
  return list;
}

// Adds plans to `ways` until it has `most`; the last refusal is kept in ways.refusal.
void add_plans(Ways& ways, cudnnContext* handle, const ConvProblem& p, bool tf32, int spatial, size_t most) {
  auto operation = std::make_shared<Operation>();
  const Operation& o = *operation;
  if (auto why = fill(o, p, spatial); !why.empty()) {
    ways.refusal = why;
    return;
  }
  set(o.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, o.node);
  set(o.graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  if (cudnnStatus_t status = finalize(o.graph); status != CUDNN_STATUS_SUCCESS) {
    ways.refusal = "cuDNN's graph API refuses this problem: " + status_text(status);
    return;
  }
  // Transforms (FFT, Winograd) round differently from the sums of products this is compared with. Tensor cores multiply
  // f64, f16 and bf16 as they are, float32 in TF32.
  auto allowed = [&](const Engine& e) {
    if (e.transforms || e.rounds_sums) return false;
    if (is_half(p.dtype) && e.order_varies) return false;  // adds to y itself, in 16 bits
    return tf32 || !(e.rounds_inputs || (e.tensor_cores && p.dtype == DType::f32));
  };
  int engines = 0, left_out = 0;
  std::vector<int64_t> tried;
  for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (auto& configuration : offered(o, mode)) {
      if (ways.list.size() >= most) return;
      Engine e = engine_of(configuration);
      if (mode == CUDNN_HEUR_MODE_FALLBACK && std::find(tried.begin(), tried.end(), e.index) != tried.end()) continue;
      tried.push_back(e.index);
      engines++;
      if (!allowed(e)) {
        left_out++;
        continue;
      }
      auto plan = make_backend_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (finalize(plan) != CUDNN_STATUS_SUCCESS) continue;
      ways.list.push_back(std::make_unique<GraphWay>(operation, std::move(configuration), std::move(plan), e, spatial));
    }
  if (!ways.list.empty()) return;
  if (engines == 0) {
    ways.refusal = "cuDNN's graph API has no engine for this problem";
    return;
  }
  ways.refusal = fmt::format(
      "cuDNN's graph API has {} engine{} for this problem, but none {}", engines, engines == 1 ? "" : "s",
      left_out == engines ? "in the arithmetic asked for" : "that can be built in the arithmetic asked for");
}

}  // namespace

std::string graph_descriptors_refused(const ConvProblem& p) {
  Operation o;
  return fill(o, p, 2);
}

Ways graph_ways(cudnnContext* handle, const ConvProblem& p, bool tf32, size_t most) {
  Ways ways;
  // More engines know images (H = 1) than lines.
  for (int spatial : {2, 1})
    if (ways.list.empty()) add_plans(ways, handle, p, tf32, spatial, most);
  if (!ways.list.empty()) ways.refusal.clear();
  return ways;
}

}  // namespace convscope::cudnn
