// cuDNN's functions, and owners for its objects. Only for the files that call it.
#pragma once
#include <cudnn.h>
#include <memory>
#include <string>
#include <type_traits>

#include "kernels/reference/cudnn_ways.h"

namespace convscope::cudnn {

// The functions this project calls, by their names in cudnn.h. libcudnn.so.9 exports them all and passes each on to the
// part that has it (libcudnn_ops, libcudnn_cnn, libcudnn_graph).
// clang-format off
#define CONVSCOPE_CUDNN_FUNCTIONS(F)                                                                             \
  F(cudnnGetVersion) F(cudnnGetErrorString) F(cudnnGetLastErrorString) F(cudnnCreate) F(cudnnDestroy)            \
  F(cudnnSetStream) F(cudnnCreateTensorDescriptor) F(cudnnSetTensor4dDescriptor)                                 \
  F(cudnnDestroyTensorDescriptor) F(cudnnCreateFilterDescriptor) F(cudnnSetFilter4dDescriptor)                   \
  F(cudnnDestroyFilterDescriptor) F(cudnnCreateConvolutionDescriptor) F(cudnnSetConvolution2dDescriptor)         \
  F(cudnnSetConvolutionGroupCount) F(cudnnSetConvolutionMathType) F(cudnnDestroyConvolutionDescriptor)           \
  F(cudnnGetConvolution2dForwardOutputDim) F(cudnnGetConvolutionBackwardDataAlgorithm_v7)                        \
  F(cudnnGetConvolutionBackwardDataWorkspaceSize) F(cudnnConvolutionBackwardData) F(cudnnAddTensor)              \
  F(cudnnBackendCreateDescriptor) F(cudnnBackendDestroyDescriptor) F(cudnnBackendSetAttribute)                   \
  F(cudnnBackendGetAttribute) F(cudnnBackendFinalize) F(cudnnBackendExecute)
// clang-format on

struct Library {
#define CONVSCOPE_MEMBER(name) decltype(&::name) name = nullptr;
  CONVSCOPE_CUDNN_FUNCTIONS(CONVSCOPE_MEMBER)
#undef CONVSCOPE_MEMBER
  LibraryState state;
};

// Its functions may be called only when nothing is missing (library_state()).
const Library& library();

// "CUDNN_STATUS_NOT_SUPPORTED (…)", with what cuDNN says of this thread's last failure.
std::string status_text(cudnnStatus_t status);
// Turns a failed call into a DeviceError.
void check(cudnnStatus_t status, const std::string& doing);

template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, cudnnStatus_t (*)(Pointer)>;
using TensorDescriptor = Owned<cudnnTensorDescriptor_t>;
using FilterDescriptor = Owned<cudnnFilterDescriptor_t>;
using ConvolutionDescriptor = Owned<cudnnConvolutionDescriptor_t>;
using BackendDescriptor = Owned<cudnnBackendDescriptor_t>;

TensorDescriptor make_tensor_descriptor();
FilterDescriptor make_filter_descriptor();
ConvolutionDescriptor make_convolution_descriptor();
BackendDescriptor make_backend_descriptor(cudnnBackendDescriptorType_t type);

inline cudnnDataType_t type_of(DType t) {
  switch (t) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::f64:
      return CUDNN_DATA_DOUBLE;
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
  }
  return CUDNN_DATA_FLOAT;
}
// What sums are made in.
inline cudnnDataType_t sum_type_of(DType t) { return t == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT; }

// A factor in the type that cuDNN wants factors of a tensor in.
class Factor {
 public:
  Factor(DType t, double value) : dtype_(t), f64_(value), f32_(static_cast<float>(value)) {}
  const void* address() const { return dtype_ == DType::f64 ? static_cast<const void*>(&f64_) : &f32_; }

 private:
  DType dtype_;
  double f64_;
  float f32_;
};

}  // namespace convscope::cudnn
