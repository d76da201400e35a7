#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/reference/cudnn_library.h"

namespace convscope::cudnn {
namespace {

struct Descriptors {
  TensorDescriptor x = make_tensor_descriptor(), y = make_tensor_descriptor();
  FilterDescriptor w = make_filter_descriptor();
  ConvolutionDescriptor convolution = make_convolution_descriptor();
};

// "" or why cuDNN does not take p. beyond_limits(p) is "", so that every size fits an int.
std::string fill(const Descriptors& d, const ConvProblem& p, cudnnMathType_t math) {
  const Library& c = library();
  auto i = [](int64_t v) { return static_cast<int>(v); };
  auto* convolution = d.convolution.get();
  cudnnDataType_t type = type_of(p.dtype);
  constexpr auto layout = CUDNN_TENSOR_NCHW;
  std::string why;
  auto refused = [&](cudnnStatus_t status, const char* what) {
    if (status != CUDNN_STATUS_SUCCESS) why = fmt::format("cuDNN refuses {}: {}", what, status_text(status));
    return !why.empty();
  };
  int n = 0, channels = 0, h = 0, w = 0;
  if (refused(c.cudnnSetTensor4dDescriptor(d.x.get(), layout, type, i(p.batch), i(p.in_channels), 1, i(p.length)),
              "the input's shape") ||
      refused(
          c.cudnnSetTensor4dDescriptor(d.y.get(), layout, type, i(p.batch), i(p.out_channels), 1, i(p.out_length())),
          "the output's shape") ||
      refused(c.cudnnSetFilter4dDescriptor(d.w.get(), type, layout, i(p.in_channels), i(p.out_per_group()), 1,
                                           i(p.kernel_size)),
              "the weights' shape") ||
      refused(c.cudnnSetConvolution2dDescriptor(convolution, 0, i(p.padding), 1, i(p.stride), 1, i(p.dilation),
                                                CUDNN_CROSS_CORRELATION, sum_type_of(p.dtype)),
              "padding, stride or dilation") ||
      refused(c.cudnnSetConvolutionGroupCount(convolution, i(p.groups)), "groups") ||
      refused(c.cudnnSetConvolutionMathType(convolution, math), "the arithmetic") ||
      refused(c.cudnnGetConvolution2dForwardOutputDim(convolution, d.y.get(), d.w.get(), &n, &channels, &h, &w),
              "these shapes together"))
    return why;
  if (n == p.batch && channels == p.in_channels && h == 1 && w == p.length) return "";
  return fmt::format("cuDNN derives an input of length {} from this output, not {}", w, p.length);
}

const char* name_of(cudnnConvolutionBwdDataAlgo_t algorithm) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
      return "algorithm 0 (sums by atomics, order varies)";
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1:
      return "algorithm 1";
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
      return "algorithm FFT";
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING:
      return "algorithm FFT_TILING";
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD:
      return "algorithm WINOGRAD";
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED:
      return "algorithm WINOGRAD_NONFUSED";
    default:
      return "an algorithm without a name";
  }
}

bool sums_products(cudnnConvolutionBwdDataAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 || algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
}

class LegacyWay final : public Way {
 public:
  // Errors: DeviceError when cuDNN does not take p with this arithmetic.
  LegacyWay(const ConvProblem& p, cudnnConvolutionBwdDataAlgo_t algorithm, cudnnMathType_t math)
      : dtype_(p.dtype), algorithm_(algorithm), math_(math) {
    if (auto why = fill(descriptors_, p, math); !why.empty()) throw DeviceError(why);
  }

  std::string what() const override {
    std::string text = cudnn::name_of(algorithm_);
    if (math_ == CUDNN_FMA_MATH) return text + ", tensor cores forbidden";
    switch (dtype_) {
      case DType::f32:
        return text + ", tensor cores allowed (TF32)";
      case DType::f64:
        return text + ", tensor cores allowed (full precision)";
      default:
        return text + ", tensor cores allowed (sums in f32)";
    }
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  cudnnStatus_t find_workspace(cudnnHandle_t handle) {
    return library().cudnnGetConvolutionBackwardDataWorkspaceSize(handle, descriptors_.w.get(), descriptors_.x.get(),
                                                                  descriptors_.convolution.get(), descriptors_.y.get(),
                                                                  algorithm_, &workspace_bytes_);
  }

  void issue(cudnnContext* handle, const Addresses& at, uint64_t workspace) override {
    cudnnStatus_t status = library().cudnnConvolutionBackwardData(
        handle, one_.address(), descriptors_.w.get(), reinterpret_cast<const void*>(at.w), descriptors_.x.get(),
        reinterpret_cast<const void*>(at.x), descriptors_.convolution.get(), algorithm_,
        reinterpret_cast<void*>(workspace), workspace_bytes_, zero_.address(), descriptors_.y.get(),
        reinterpret_cast<void*>(at.y));
    check(status, "computing with " + what());
  }

 private:
  DType dtype_;
  cudnnConvolutionBwdDataAlgo_t algorithm_;
  cudnnMathType_t math_;
  Descriptors descriptors_;
  size_t workspace_bytes_ = 0;
  Factor one_{dtype_, 1}, zero_{dtype_, 0};
};

class BiasWay final : public Way {
 public:
  explicit BiasWay(const ConvProblem& p) : one_(p.dtype, 1) {
    auto describe = [&](const TensorDescriptor& d, int64_t n, int64_t length) {
      check(library().cudnnSetTensor4dDescriptor(d.get(), CUDNN_TENSOR_NCHW, type_of(p.dtype), static_cast<int>(n),
                                                 static_cast<int>(p.out_channels), 1, static_cast<int>(length)),
            "describing the bias");
    };
    describe(b_, 1, 1);
    describe(y_, p.batch, p.out_length());
  }
  std::string what() const override { return "adding the bias"; }  // to a y that is rounded already
  size_t workspace_bytes() const override { return 0; }
  void issue(cudnnContext* handle, const Addresses& at, uint64_t) override {
    check(library().cudnnAddTensor(handle, one_.address(), b_.get(), reinterpret_cast<const void*>(at.b),
                                   one_.address(), y_.get(), reinterpret_cast<void*>(at.y)),
          what());
  }

 private:
  TensorDescriptor b_ = make_tensor_descriptor(), y_ = make_tensor_descriptor();
  Factor one_;
};

// What the convolution may use. There is no TF32 in the other types, so nothing is to be forbidden there; f16 and bf16
// ask for tensor cores by name, as PyTorch does.
cudnnMathType_t arithmetic(const ConvProblem& p, bool tf32) {
  if (is_half(p.dtype)) return CUDNN_TENSOR_OP_MATH;
  return tf32 || p.dtype != DType::f32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

}  // namespace

std::string legacy_descriptors_refused(const ConvProblem& p) {
  Descriptors d;
  return fill(d, p, CUDNN_DEFAULT_MATH);
}

std::unique_ptr<Way> bias_way(const ConvProblem& p) { return std::make_unique<BiasWay>(p); }

Ways legacy_ways(cudnnContext* handle, const ConvProblem& p, bool tf32) {
  Ways ways;
  cudnnMathType_t math = arithmetic(p, tf32);
  Descriptors d;
  if (ways.refusal = fill(d, p, math); !ways.refusal.empty()) return ways;
  std::vector<cudnnConvolutionBwdDataAlgoPerf_t> results(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
  int count = 0;
  cudnnStatus_t status = library().cudnnGetConvolutionBackwardDataAlgorithm_v7(
      handle, d.w.get(), d.x.get(), d.convolution.get(), d.y.get(), static_cast<int>(results.size()), &count,
      results.data());
  if (status != CUDNN_STATUS_SUCCESS) {
    ways.refusal = fmt::format("cuDNN has no algorithm for this problem: {}", status_text(status));
    return ways;
  }
  results.resize(static_cast<size_t>(std::clamp(count, 0, static_cast<int>(results.size()))));
  // FFT and Winograd do not sum products but transforms of them: another rounding than the one this is compared by.
  // They stand in only where nothing else does.
  std::stable_partition(results.begin(), results.end(), [](const auto& r) { return sums_products(r.algo); });
  std::vector<std::pair<int, int>> seen;
  for (const auto& r : results) {
    if (r.status != CUDNN_STATUS_SUCCESS) continue;
    if (!sums_products(r.algo) && !ways.list.empty()) continue;
    // Algorithm 0 adds to y itself: in 16 bits every addition rounds (measured: 50 to 370 times the bound of sums in
    // f32). The graph API has others.
    if (is_half(p.dtype) && r.algo != CUDNN_CONVOLUTION_BWD_DATA_ALGO_1) continue;
    // The result says which arithmetic its algorithm was rated with. Where tensor cores are forbidden that is not
    // asked, since the answer may be "default", which allows them again. Nor is float16 ever allowed.
    cudnnMathType_t use =
        math != CUDNN_FMA_MATH && r.mathType != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ? r.mathType : math;
    std::pair<int, int> key{r.algo, use};
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    auto way = std::make_unique<LegacyWay>(p, r.algo, use);
    if (way->find_workspace(handle) == CUDNN_STATUS_SUCCESS) ways.list.push_back(std::move(way));
  }
  if (ways.list.empty())
    ways.refusal = is_half(p.dtype) ? "cuDNN has no algorithm for this problem that sums in f32"
                                    : "cuDNN has no algorithm for this problem";
  return ways;
}

}  // namespace convscope::cudnn
