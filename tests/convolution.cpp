#include "tests/convolution.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include "kernels/runtime/device.h"

namespace convscope::test {

ConvProblem random_problem(Random& r, const Ranges& upto) {
  ConvProblem p;
  p.batch = between(r, 1, upto.batch);
  p.groups = r() % 2 ? 1 : between(r, 1, upto.groups);
  bool depthwise = r() % 8 == 0;
  p.in_channels = p.groups * (depthwise ? 1 : between(r, 1, upto.channels_per_group));
  p.out_channels = p.groups * (depthwise ? 1 : between(r, 1, upto.channels_per_group));
  p.kernel_size = r() % 4 ? between(r, 1, std::min<int64_t>(6, upto.kernel_size)) : between(r, 1, upto.kernel_size);
  p.length = r() % 5 ? between(r, 1, upto.length) : between(r, 1, 3);
  p.stride = r() % 3 ? between(r, 1, std::min<int64_t>(4, upto.stride)) : between(r, 1, upto.stride);
  p.dilation = r() % 2 ? 1 : between(r, 1, upto.dilation);
  p.output_padding = r() % 2 ? 0 : between(r, 0, std::max(p.stride, p.dilation) - 1);
  int64_t spare = (p.length - 1) * p.stride + p.dilation * (p.kernel_size - 1) + p.output_padding;  // Lout − 1 at p = 0
  if (r() % 3) p.padding = between(r, 0, r() % 4 ? std::min<int64_t>(4, spare / 2) : spare / 2);
  p.bias = r() % 2;
  p.dtype = r() % 3 ? DType::f32 : DType::f64;
  if (upto.halves) p.dtype = r() % 2 ? DType::f16 : DType::bf16;
  return p;
}

HostTensor random_tensor(Random& r, DType dtype, std::vector<int64_t> shape) {
  return make_tensor(dtype, std::move(shape), [&](auto* out, int64_t count) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int64_t e = 0; e < count; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(uniform(r));
  });
}

Tensors random_tensors(Random& r, const ConvProblem& p) {
  return {random_tensor(r, p.dtype, {p.batch, p.in_channels, p.length}),
          random_tensor(r, p.dtype, {p.in_channels, p.out_channels / p.groups, p.kernel_size}),
          random_tensor(r, p.dtype, {p.bias ? p.out_channels : 0})};
}

Tensors integer_tensors(Random& r, const ConvProblem& p) {
  auto tensor = [&](std::vector<int64_t> shape) {
    return make_tensor(p.dtype, std::move(shape), [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(between(r, -3, 3));
    });
  };
  return {tensor({p.batch, p.in_channels, p.length}), tensor({p.in_channels, p.out_channels / p.groups, p.kernel_size}),
          tensor({p.bias ? p.out_channels : 0})};
}

Expected expected_result(const ConvProblem& p, const Tensors& t) {
  int64_t lout = (p.length - 1) * p.stride - 2 * p.padding + p.dilation * (p.kernel_size - 1) + p.output_padding + 1;
  int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  auto count = static_cast<size_t>(p.batch * p.out_channels * lout);
  Expected e{std::vector<long double>(count), std::vector<long double>(count), std::vector<int64_t>(count)};
  for (int64_t n = 0; n < p.batch; n++)
    for (int64_t co = 0; co < p.out_channels; co++)
      for (int64_t j = 0; j < lout; j++)
        if (p.bias) e.y[static_cast<size_t>((n * p.out_channels + co) * lout + j)] = t.b.at(co);
  for (int64_t n = 0; n < p.batch; n++)
    for (int64_t ci = 0; ci < p.in_channels; ci++)
      for (int64_t q = 0; q < out; q++)
        for (int64_t i = 0; i < p.length; i++)
          for (int64_t k = 0; k < p.kernel_size; k++) {
            int64_t j = i * p.stride - p.padding + k * p.dilation, co = ci / in * out + q;
            if (j < 0 || j >= lout) continue;
            auto at = static_cast<size_t>((n * p.out_channels + co) * lout + j);
            long double product = static_cast<long double>(t.x.at((n * p.in_channels + ci) * p.length + i)) *
                                  static_cast<long double>(t.w.at((ci * out + q) * p.kernel_size + k));
            e.y[at] += product;
            e.magnitude[at] += std::fabs(product);
            e.terms[at]++;
          }
  return e;
}

std::string first_wrong(const ConvProblem& p, const Tensors& t, const Expected& e, const HostTensor& got) {
  if (got.elements() != static_cast<int64_t>(e.y.size()))
    return fmt::format("{} elements instead of {}", got.elements(), e.y.size());
  int64_t lout = got.elements() / (p.batch * p.out_channels);
  for (size_t at = 0; at < e.y.size(); at++) {
    auto flat = static_cast<int64_t>(at);
    int64_t j = flat % lout, co = flat / lout % p.out_channels, n = flat / lout / p.out_channels;
    long double bias = p.bias ? std::fabs(static_cast<long double>(t.b.at(co))) : 0;
    const bool half = is_half(p.dtype);
    const DTypeTraits& sums = traits(half ? DType::f32 : p.dtype);
    long double bound = e.terms[at] == 0
                            ? 0
                            : static_cast<long double>(e.terms[at] + 2) * sums.unit_roundoff * (e.magnitude[at] + bias);
    if (half && e.terms[at])
      bound += traits(p.dtype).unit_roundoff * (std::fabs(e.y[at]) + bound) + traits(p.dtype).smallest / 2;
    long double error = std::fabs(static_cast<long double>(got.at(flat)) - e.y[at]);
    if (!(error <= bound))  // so that NaN is wrong
      return fmt::format("y[{}, {}, {}] is {:.17g}, expected {:.17g}, bound {:.3g}, {} terms, of {}", n, co, j,
                         got.at(flat), static_cast<double>(e.y[at]), static_cast<double>(bound), e.terms[at],
                         describe(p));
  }
  return "";
}

namespace {

// A tensor on the device between two red zones of NaN.
class Guarded {
 public:
  Guarded(Device& device, DType dtype, int64_t elements)
      : device_(device),
        bytes_(static_cast<size_t>(elements) * size_of(dtype)),
        memory_(device.allocate((bytes_ + 3) / 4 * 4 + 2 * zone)) {
    device.fill(*memory_, 0, 0xffffffff, memory_->size());  // a NaN in every type
  }
  Guarded(Device& device, const HostTensor& t) : Guarded(device, t.dtype, t.elements()) {
    device.write(*memory_, zone, t.data(), t.size_bytes());
  }
  uint64_t address() const { return memory_->address() + zone; }
  void read(void* to) const { device_.read(*memory_, zone, to, bytes_); }
  void require_intact(const char* what, const HostTensor* unchanged) const {
    std::vector<unsigned char> all(memory_->size());
    device_.read(*memory_, 0, all.data(), all.size());
    for (size_t i = 0; i < all.size(); i++)
      if ((i < zone || i >= zone + bytes_) && all[i] != 0xff)
        throw std::runtime_error(
            fmt::format("the kernel wrote outside {}, at byte {}", what, static_cast<int64_t>(i - zone)));
    if (unchanged && bytes_ && std::memcmp(all.data() + zone, unchanged->data(), bytes_) != 0)
      throw std::runtime_error(fmt::format("the kernel changed {}", what));
  }

 private:
  static constexpr size_t zone = 4096;
  Device& device_;
  size_t bytes_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace

HostTensor run_kernel(const KernelDefinition& kernel, const ConvProblem& p, const Tensors& t, uint32_t order_seed) {
  auto device = open_emulator();
  Plan plan = kernel.plan_for(p);
  Guarded x(*device, t.x), w(*device, t.w), b(*device, t.b);
  std::vector<int64_t> shape{p.batch, p.out_channels, std::max<int64_t>(0, plan.out_length())};
  Guarded y(*device, p.dtype, shape[0] * shape[1] * shape[2]);
  auto workspace = plan.workspace_bytes() ? device->allocate(plan.workspace_bytes()) : nullptr;
  if (workspace) device->fill(*workspace, 0, 0xffffffff, plan.workspace_bytes() / 4 * 4);
  device->run(kernel, plan,
              {x.address(), w.address(), p.bias ? b.address() : 0, y.address(), workspace ? workspace->address() : 0},
              {order_seed, nullptr});
  x.require_intact("x", &t.x);
  w.require_intact("w", &t.w);
  b.require_intact("b", &t.b);
  y.require_intact("y", nullptr);
  return make_tensor(p.dtype, shape, [&](auto* out, int64_t) { y.read(out); });
}

}  // namespace convscope::test
