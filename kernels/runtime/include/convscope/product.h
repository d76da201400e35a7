// A matrix product that host code asks for, in sizes and strides (products.h;
// kernels/runtime/compile/host_products.cpp).
#pragma once
#include "convscope/host_tensor.h"

namespace convscope::host {

// c[m, n] = alpha · Σ a[m, k] · b[k, n] + beta · c[m, n] for each of a batch; strides in elements. Of which sizes and
// with which strides: those of the tensors, or of cuBLAS's arguments (cuBLAS documentation, "cublas<t>gemm").
struct Product {
  long long m, n, k, batch;
  long long a_m, a_k, a_batch, b_k, b_n, b_batch, c_m, c_n, c_batch;
  double alpha, beta;
};

// What PyTorch's documentation of torch.matmul has for two tensors of two or three dimensions: the product, and in
// `made` the sizes of its result. `name` is what the host code calls; mm takes two dimensions, bmm three. Errors:
// refused.
CONVSCOPE_PROGRAM Product product_of(const char* name, const Tensor& a, const Tensor& b, Sizes& made);
// Of a GEMM in cuBLAS's order, column by column; lda, ldb and ldc as in its documentation. Errors: refused.
struct Gemm {
  const char* name;
  bool a_turned, b_turned;
  long long m, n, k, lda, ldb, ldc, a_batch, b_batch, c_batch, batch;
};
CONVSCOPE_PROGRAM Product product_of(const Gemm& g, double alpha, double beta);

}  // namespace convscope::host
