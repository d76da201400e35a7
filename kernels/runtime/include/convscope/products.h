// Matrix products that host code asks PyTorch or cuBLAS for (a product and then col2im is a usual way to a transposed
// convolution): at::matmul, mm and bmm, and cuBLAS's GEMMs for float, double and 16-bit types with sums in float. Each
// is a launch of a plain kernel, an output a thread: right, and slower than what it stands for, which is said beside
// its times. Included after host_code.h for files that name one of them (kernels/runtime/compile/host_code.h).
#pragma once
#define CONVSCOPE_PRODUCTS
#include "convscope/half_functions.h"
#include "convscope/host_code.h"
#include "convscope/product.h"

#if defined(__CUDACC__)
#include "convscope/product_kernels.h"
#endif

namespace convscope::host {

void multiply(ScalarType type, uint64_t c, uint64_t a, uint64_t b, const Product& p, uintptr_t stream);

inline Tensor multiplied(const char* name, const Tensor& a, const Tensor& b) {
  Sizes sizes;
  const Product p = product_of(name, a, b, sizes);
  Tensor made = empty(sizes, a.options());
  multiply(a.scalar_type(), made.address(), a.address(), b.address(), p, current_stream());
  return made;
}
inline Tensor matmul(const Tensor& a, const Tensor& b) { return multiplied("matmul", a, b); }
inline Tensor mm(const Tensor& a, const Tensor& b) { return multiplied("mm", a, b); }
inline Tensor bmm(const Tensor& a, const Tensor& b) { return multiplied("bmm", a, b); }
inline Tensor Tensor::matmul(const Tensor& b) const { return host::matmul(*this, b); }
inline Tensor Tensor::mm(const Tensor& b) const { return host::mm(*this, b); }
inline Tensor Tensor::bmm(const Tensor& b) const { return host::bmm(*this, b); }

}  // namespace convscope::host

namespace at {
using convscope::host::bmm, convscope::host::matmul, convscope::host::mm;
}  // namespace at

// ---- cuBLAS, by the names of its documentation

struct cublasContext {
  uintptr_t stream = 0;
};
using cublasHandle_t = cublasContext*;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_INVALID_VALUE = 7 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3
};
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
#if defined(__CUDACC__)
#include <library_types.h>
#else
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;
#endif

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return *handle = new cublasContext, CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) { return delete handle, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return handle->stream = reinterpret_cast<uintptr_t>(stream), CUBLAS_STATUS_SUCCESS;
}
// Less exact products are not computed here, and more exact ones are no stand-in for them.
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  if (mode == CUBLAS_TF32_TENSOR_OP_MATH) convscope::host::refuse("its host code asks cuBLAS for products in TF32");
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t mode) {
  if (mode == CUBLAS_POINTER_MODE_DEVICE) convscope::host::refuse("its host code gives cuBLAS factors on the GPU");
  return CUBLAS_STATUS_SUCCESS;
}
namespace at::cuda {
inline cublasHandle_t getCurrentCUDABlasHandle() {
  static thread_local cublasContext one;
  return one.stream = convscope::host::current_stream(), &one;
}
}  // namespace at::cuda

namespace convscope::host {

inline cublasStatus_t multiply(cublasHandle_t handle, ScalarType type, const Gemm& g, double alpha, const void* a,
                               const void* b, double beta, void* c) {
  multiply(type, reinterpret_cast<uint64_t>(c), reinterpret_cast<uint64_t>(a), reinterpret_cast<uint64_t>(b),
           product_of(g, alpha, beta), handle->stream);
  return CUBLAS_STATUS_SUCCESS;
}
CONVSCOPE_PROGRAM bool on_device(uint64_t address);
template <class T>
double factor(const char* name, const void* of) {
  if (!of || on_device(reinterpret_cast<uint64_t>(of)))
    refuse("its host code gives ", name, " a factor that is not in the host's memory");
  return static_cast<double>(*static_cast<const T*>(of));
}
// Of Ex: what is computed with, and with what its sums are made.
inline ScalarType type_of(const char* name, cudaDataType a, cudaDataType b, cudaDataType c, int compute) {
  if (a != b || a != c) refuse("its host code calls ", name, " for matrices of several types");
  const ScalarType type = a == CUDA_R_32F    ? ScalarType::Float
                          : a == CUDA_R_64F  ? ScalarType::Double
                          : a == CUDA_R_16F  ? ScalarType::Half
                          : a == CUDA_R_16BF ? ScalarType::BFloat16
                                             : ScalarType::Bool;
  const bool f64 = type == ScalarType::Double, wide = f64 ? compute == CUBLAS_COMPUTE_64F || compute == CUDA_R_64F
                                                          : compute == CUBLAS_COMPUTE_32F ||
                                                                compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                                                                compute == CUDA_R_32F;
  if (type == ScalarType::Bool || !wide)
    refuse("its host code calls ", name, " for type ", static_cast<int>(a), " and sums of ", compute,
           ", which are not computed here (f32, f64, f16 and bf16 are, with sums in f32 or f64)");
  return type;
}
inline cublasStatus_t multiply_ex(cublasHandle_t handle, const Gemm& g, const void* alpha, const void* a,
                                  cudaDataType a_type, const void* b, cudaDataType b_type, const void* beta, void* c,
                                  cudaDataType c_type, int compute) {
  const ScalarType type = type_of(g.name, a_type, b_type, c_type, compute);
  const bool f64 = type == ScalarType::Double;
  return multiply(handle, type, g, f64 ? factor<double>(g.name, alpha) : factor<float>(g.name, alpha), a, b,
                  f64 ? factor<double>(g.name, beta) : factor<float>(g.name, beta), c);
}

}  // namespace convscope::host

#define CONVSCOPE_GEMM(NAME, T, TYPE)                                                                                  \
  inline cublasStatus_t NAME(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,        \
                             const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) { \
    return convscope::host::multiply(                                                                                  \
        h, convscope::host::ScalarType::TYPE,                                                                          \
        {#NAME, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, 0, 0, 0, 1},                             \
        convscope::host::factor<T>(#NAME, alpha), a, b, convscope::host::factor<T>(#NAME, beta), c);                   \
  }                                                                                                                    \
  inline cublasStatus_t NAME##StridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,      \
                                             int n, int k, const T* alpha, const T* a, int lda, long long a_batch,     \
                                             const T* b, int ldb, long long b_batch, const T* beta, T* c, int ldc,     \
                                             long long c_batch, int batch) {                                           \
    return convscope::host::multiply(h, convscope::host::ScalarType::TYPE,                                             \
                                     {#NAME "StridedBatched", ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, \
                                      ldc, a_batch, b_batch, c_batch, batch},                                          \
                                     convscope::host::factor<T>(#NAME, alpha), a, b,                                   \
                                     convscope::host::factor<T>(#NAME, beta), c);                                      \
  }
CONVSCOPE_GEMM(cublasSgemm, float, Float)
CONVSCOPE_GEMM(cublasDgemm, double, Double)
#undef CONVSCOPE_GEMM

template <class Compute>
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            Compute compute, cublasGemmAlgo_t) {
  return convscope::host::multiply_ex(
      h, {"cublasGemmEx", ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, 0, 0, 0, 1}, alpha, a, a_type,
      b, b_type, beta, c, c_type, static_cast<int>(compute));
}
template <class Compute>
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                          int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long a_batch, const void* b, cudaDataType b_type, int ldb,
                                          long long b_batch, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_batch, int batch, Compute compute, cublasGemmAlgo_t) {
  return convscope::host::multiply_ex(h,
                                      {"cublasGemmStridedBatchedEx", ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda,
                                       ldb, ldc, a_batch, b_batch, c_batch, batch},
                                      alpha, a, a_type, b, b_type, beta, c, c_type, static_cast<int>(compute));
}
#define TORCH_CUDABLAS_CHECK(call) (void)(call)
