#include "kernels/verify/probe_inputs.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/worker_pool.h"

namespace convscope {
namespace {

// splitmix64 (Steele, Lea & Flood, Fast Splittable Pseudorandom Number Generators, 2014): any element at once, so that
// large tensors are filled by all workers.
uint64_t mix(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

template <class At>
HostTensor fill(const ConvProblem& p, std::vector<int64_t> shape, At at) {
  return make_tensor(p.dtype, std::move(shape), [&](auto* out, int64_t n) {
    WorkerPool::shared().for_chunks(n, 1 << 18, [&](int64_t a, int64_t b) {
      for (int64_t e = a; e < b; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(at(e));
    });
  });
}

template <class X, class W, class B>
Inputs make(const ConvProblem& p, X x, W w, B b) {
  Inputs in;
  in.x = fill(p, {p.batch, p.in_channels, p.length}, x);
  in.w = fill(p, {p.in_channels, p.out_per_group(), p.kernel_size}, w);
  in.b = p.bias ? fill(p, {p.out_channels}, b) : HostTensor{p.dtype, {0}, std::make_shared<HostBytes>()};
  return in;
}

// Below this every partial sum is exact, in what the type is summed in.
double exact_limit(const ConvProblem& p) { return p.dtype == DType::f64 ? 0x1p53 : 0x1p24; }
double most_terms(const ConvProblem& p) {
  return static_cast<double>(p.in_per_group()) * static_cast<double>(p.kernel_size);
}

}  // namespace

std::optional<Inputs> exact_inputs(const ConvProblem& p, uint64_t seed) {
  // terms · r² + r (the bias) < limit.
  auto reach = static_cast<int64_t>(std::min(127.0, std::sqrt(exact_limit(p) / (most_terms(p) + 1)) - 1e-9));
  if (reach < 1) return std::nullopt;
  // 16 bits hold few integers: most sums (three standard deviations of them) shall be among these, so that the output's
  // rounding hides nothing.
  if (is_half(p.dtype)) {
    auto sums = [&](int64_t r) {
      return 3 * std::sqrt(most_terms(p)) * static_cast<double>((r + 1) * (2 * r + 1)) / 6;
    };
    while (reach > 1 && sums(reach) > std::exp2(traits(p.dtype).significand_bits)) reach--;
  }
  auto draw = [=](uint64_t salt) {
    return [=](int64_t e) {
      uint64_t h = mix(seed ^ salt, static_cast<uint64_t>(e));
      int64_t size = 1 + static_cast<int64_t>(h % static_cast<uint64_t>(reach));
      return h >> 63 ? -size : size;
    };
  };
  return make(p, draw(0x78), draw(0x77), draw(0x62));
}

std::optional<Inputs> precision_inputs(const ConvProblem& p, uint64_t seed, int bits, bool weights_first) {
  int64_t cin = p.in_per_group(), cout = p.out_per_group(), taps = p.kernel_size;
  auto widest = static_cast<double>(int64_t{1} << bits);
  // Of the pairs of neighbouring channels, one in `every` has products that are not zero at a tap: pairs, so that both
  // kinds of channel are always among them.
  int64_t every = 1;
  auto terms = [&] {
    return most_terms(p) / static_cast<double>(every) + (every > 1 ? 2 * static_cast<double>(taps) : 0) + 2;
  };
  while (terms() * widest >= exact_limit(p)) {
    every++;
    if (every > cin) return std::nullopt;
  }
  // Integers of f16 reach beyond its largest number: there they are counted in 2^-8, as exact and never infinite.
  const double unit = p.dtype == DType::f16 ? 0x1p-8 : 1;
  auto wide_in_x = [=](int64_t ci) { return (ci % 2 == 0) != weights_first; };
  auto wide = [=](uint64_t h) {
    int64_t v = (int64_t{1} << (bits - 1)) | static_cast<int64_t>(h % (uint64_t{1} << (bits - 1))) | 1;
    return unit * static_cast<double>(h >> 63 ? -v : v);
  };
  auto sign = [](uint64_t h) { return h >> 63 ? -1.0 : 1.0; };
  return make(
      p,
      [=](int64_t e) {
        int64_t ci = e / p.length % p.in_channels % cin;
        uint64_t h = mix(seed ^ 0x7078, static_cast<uint64_t>(e));
        return wide_in_x(ci) ? wide(h) : sign(h);
      },
      [=](int64_t e) {
        int64_t k = e % taps, co = e / taps % cout, ci = e / taps / cout % cin;
        uint64_t h = mix(seed ^ 0x7077, static_cast<uint64_t>(e));
        if ((ci / 2 + k + co) % every != 0) return 0.0;
        return wide_in_x(ci) ? sign(h) : wide(h);
      },
      [=](int64_t e) { return sign(mix(seed ^ 0x7062, static_cast<uint64_t>(e))); });
}

std::optional<Inputs> product_inputs(const ConvProblem& p, uint64_t seed) {
  constexpr int64_t least = 128;  // 8 bits, the first and the last of them set
  int64_t cin = p.in_per_group(), cout = p.out_per_group(), taps = p.kernel_size, every = 1;
  auto terms = [&] {
    return most_terms(p) / static_cast<double>(every) + (every > 1 ? static_cast<double>(taps) : 0) + 1;
  };
  while (terms() * (4 * least * least) >= exact_limit(p))
    if (++every > cin) return std::nullopt;
  auto wide = [=](uint64_t h) {
    auto v = 0x1p-4 * static_cast<double>(least | static_cast<int64_t>(h % least) | 1);
    return h >> 63 ? -v : v;
  };
  return make(
      p, [=](int64_t e) { return wide(mix(seed ^ 0x7178, static_cast<uint64_t>(e))); },
      [=](int64_t e) {
        int64_t k = e % taps, co = e / taps % cout, ci = e / taps / cout % cin;
        return (ci + k + co) % every ? 0.0 : wide(mix(seed ^ 0x7177, static_cast<uint64_t>(e)));
      },
      [=](int64_t e) { return wide(mix(seed ^ 0x7162, static_cast<uint64_t>(e))); });
}

Inputs value_inputs(const ConvProblem& p, uint64_t seed) {
  // Of every s-th position of the kernel a tap lands; both factors are uniform in ±1, whose squares are a third.
  const double terms = std::max(1.0, most_terms(p) / static_cast<double>(p.stride)), rms = std::sqrt(terms) / 3;
  auto draw = [=](uint64_t salt, double scale) {
    return [=](int64_t e) {
      return scale * (static_cast<double>(mix(seed ^ salt, static_cast<uint64_t>(e)) >> 11) * 0x1p-52 - 1);
    };
  };
  return make(p, draw(0x78, 1), draw(0x77, 3 / rms), draw(0x62, 2));
}

}  // namespace convscope
