#include "tests/kernels/verify/judging.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "kernels/problem/counts.h"
#include "kernels/runtime/registry.h"

namespace convscope::test {

void MadeUpOracle::compute(const OutputBlock& block, double* value, double* magnitude) {
  for (int64_t r = 0; r < block.rows; r++)
    for (int64_t c = 0; c < block.columns; c++) {
      value[r * block.columns + c] = value_(block.row + r, block.column + c);
      if (magnitude) magnitude[r * block.columns + c] = magnitude_(block.row + r, block.column + c);
    }
}

namespace {

template <class Sum, class Each>
HostTensor sums(const ConvProblem& p, const Tensors& t, Each each) {
  int64_t lout = p.out_length(), in = p.in_per_group(), out = p.out_per_group();
  std::vector<std::vector<Tap>> taps;
  for (int64_t j = 0; j < lout; j++) taps.push_back(taps_at(p, j));
  return make_tensor(p.dtype, {p.batch, p.out_channels, lout}, [&](auto* y, int64_t) {
    for (int64_t n = 0; n < p.batch; n++)
      for (int64_t co = 0; co < p.out_channels; co++)
        for (int64_t j = 0; j < lout; j++) {
          Sum sum = p.bias ? static_cast<Sum>(t.b.at(co)) : Sum(0);
          for (int64_t ci = co / out * in; ci < co / out * in + in; ci++)
            for (auto [k, i] : taps[static_cast<size_t>(j)])
              sum += static_cast<Sum>(each(Product{n, co, j, ci, k, i, t.x.at((n * p.in_channels + ci) * p.length + i),
                                                   t.w.at((ci * out + co % out) * p.kernel_size + k)}));
          *y++ = static_cast<std::remove_pointer_t<decltype(y)>>(sum);
        }
  });
}

}  // namespace

HostTensor computed(const ConvProblem& p, const Tensors& t, const std::function<double(const Product&)>& each) {
  if (each) return sums<double>(p, t, each);
  return sums<double>(p, t, [](const Product& q) { return q.x * q.w; });
}

HostTensor computed_in_type(const ConvProblem& p, const Tensors& t) {
  return dispatch(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return sums<T>(p, t, [](const Product& q) { return static_cast<T>(q.x) * static_cast<T>(q.w); });
  });
}

HostTensor changed(const HostTensor& t, const std::vector<std::pair<int64_t, double>>& elements) {
  return make_tensor(t.dtype, t.shape, [&](auto* out, int64_t n) {
    using T = std::remove_pointer_t<decltype(out)>;
    for (int64_t e = 0; e < n; e++) out[e] = static_cast<T>(t.at(e));
    for (auto [e, v] : elements) out[e] = static_cast<T>(v);
  });
}

Comparison compared(const ConvProblem& p, const Tensors& t, const HostTensor& y, CompareOptions options) {
  auto oracle = make_cpu_oracle(p, inputs_of(t));
  return compare(p, *oracle, {p.dtype, y.data(), y.shape.back()}, options, nullptr);
}

const KernelDefinition& kernel(const std::string& name) { return find_kernel(name); }

RunSpec quick() {
  RunSpec spec;
  spec.references = false;
  spec.samples = 2;
  return spec;
}

RunReport judged(const std::string& name, const ConvProblem& p, RunSpec spec) {
  auto device = open_emulator();
  std::vector<std::unique_ptr<Reference>> none;
  Judge judge(*device, none);
  spec.kernel = &find_kernel(name);
  spec.problem = p;
  Activity activity;
  return judge.run(spec, activity);
}

Xray rayed(const std::string& name, const ConvProblem& p, Accuracy accuracy) {
  auto device = open_emulator();
  Activity activity;
  return xray(*device, kernel(name), p, accuracy, {}, activity);
}

std::string evidence(const RunReport& r, const std::string& layer) {
  const Layer* l = r.verdict.find(layer);
  return l ? l->evidence : "no layer " + layer;
}

LayerStatus layer_status(const RunReport& r, const std::string& layer) {
  const Layer* l = r.verdict.find(layer);
  return l ? l->status : LayerStatus::skipped;
}

int cases(int usually, int of_long) { return test::long_run() ? of_long : std::max(1, usually / fewer); }

float rounded_to_tf32(float v) { return std::bit_cast<float>((std::bit_cast<uint32_t>(v) + 0x1000u) & 0xffffe000u); }
float cut_to_tf32(float v) { return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0xffffe000u); }
float rounded_to_bf16(float v) {
  uint32_t u = std::bit_cast<uint32_t>(v);
  return std::bit_cast<float>((u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u);  // to nearest, ties to even
}

}  // namespace convscope::test
