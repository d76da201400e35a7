// What matrix products of host code multiply (convscope/product.h).
#include <algorithm>
#include <string>

#include "convscope/product.h"
#include "kernels/runtime/compile/not_followed.h"

namespace convscope::host {

Product product_of(const char* name, const Tensor& a, const Tensor& b, Sizes& made) {
  const bool each = std::string_view(name) == "mm", batched = std::string_view(name) == "bmm";
  const int64_t least = batched ? 3 : 2, most = each ? 2 : 3;
  for (const Tensor* t : {&a, &b})
    if (t->dim() < least || t->dim() > most)
      refuse("its host code calls ", name, " for ", said(*t), ": ",
             least == most ? std::to_string(least) : std::string("2 or 3"), " dimensions are multiplied here");
  const auto both = [&] { return said(a.sizes()) + " and " + said(b.sizes()); };
  if (a.scalar_type() != b.scalar_type())
    refuse("its host code calls ", name, " for a tensor of type ", name_of(a.scalar_type()), " and one of type ",
           name_of(b.scalar_type()));
  if (a.size(-1) != b.size(-2))
    throw FailsInPyTorch(joined("its host code calls ", name, " for sizes ", both(), ", which do not fit"));
  // A batch of one, or none at all, is there for all of the other's.
  const int64_t of_a = a.dim() == 3 ? a.size(0) : 1, of_b = b.dim() == 3 ? b.size(0) : 1;
  if (of_a != of_b && (batched || (of_a != 1 && of_b != 1)))
    throw FailsInPyTorch(joined("its host code calls ", name, " for sizes ", both(), ", whose batches do not fit"));
  Product p{};
  p.m = a.size(-2), p.k = a.size(-1), p.n = b.size(-1), p.batch = of_a == 1 ? of_b : of_a;
  p.a_m = a.stride(-2), p.a_k = a.stride(-1), p.a_batch = of_a > 1 ? a.stride(0) : 0;
  p.b_k = b.stride(-2), p.b_n = b.stride(-1), p.b_batch = of_b > 1 ? b.stride(0) : 0;
  p.c_m = p.n, p.c_n = 1, p.c_batch = p.m * p.n;
  p.alpha = 1;
  made = a.dim() == 3 || b.dim() == 3 ? Sizes{p.batch, p.m, p.n} : Sizes{p.m, p.n};
  return p;
}

Product product_of(const Gemm& g, double alpha, double beta) {
  for (const auto& [what, size] : {std::pair{"m", g.m}, {"n", g.n}, {"k", g.k}, {"a batch", g.batch}})
    if (size < 0) refuse("its host code calls ", g.name, " with ", what, " of ", size);
  // What cuBLAS refuses with CUBLAS_STATUS_INVALID_VALUE.
  const struct {
    const char* name;
    long long is, least;
  } leading[] = {{"lda", g.lda, g.a_turned ? g.k : g.m}, {"ldb", g.ldb, g.b_turned ? g.n : g.k}, {"ldc", g.ldc, g.m}};
  for (const auto& l : leading)
    if (l.is < std::max(1LL, l.least))
      refuse("its host code calls ", g.name, " with ", l.name, " of ", l.is, ", where the matrix has ", l.least,
             " rows (cuBLAS: invalid value)");
  Product p{};
  p.m = g.m, p.n = g.n, p.k = g.k, p.batch = g.batch;
  p.a_m = g.a_turned ? g.lda : 1, p.a_k = g.a_turned ? 1 : g.lda, p.a_batch = g.a_batch;
  p.b_k = g.b_turned ? g.ldb : 1, p.b_n = g.b_turned ? 1 : g.ldb, p.b_batch = g.b_batch;
  p.c_m = 1, p.c_n = g.ldc, p.c_batch = g.c_batch;
  p.alpha = alpha, p.beta = beta;
  return p;
}

}  // namespace convscope::host
