// A kernel whose inputs are laid as is asked, and one element of what it makes of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/base/activity.h"
#include "kernels/base/error.h"
#include "kernels/problem/inputs.h"
#include "kernels/runtime/device.h"
#include "kernels/verify/guarded.h"

namespace convscope {

// The launch that is given y, where it is the only one and its blocks have no memory in common but the tensors: then a
// block does the same whether the others run or not, as long as they do not meet in a tensor.
std::optional<int64_t> launch_of_lone_blocks(const KernelDefinition& kernel, const Plan& plan);

class Prober {
 public:
  static constexpr const char* phase = "explaining one element";

  Prober(Device& device, const KernelDefinition& kernel, const ConvProblem& p, Activity& activity)
      : device_(device), kernel_(kernel), p_(p), activity_(activity), plan_(kernel.plan_for(p)) {
    if (auto why = kernel.unsupported(p); !why.empty()) throw InputError("kernel", kernel.name(), why);
    if (auto why = device.unavailable(kernel, plan_); !why.empty()) throw MissingError("kernel " + kernel.name(), why);
    own_ = plan_.out_length();
    auto size = [&](int64_t e) { return static_cast<size_t>(e) * size_of(p.dtype); };
    auto tensor = [&](size_t bytes, size_t zone_after = GuardedTensor::least_zone) {
      return std::make_unique<GuardedTensor>(device, bytes, zone_after, &activity_);
    };
    x_ = tensor(size(p.x_elements()));
    w_ = tensor(size(p.w_elements()),
                std::min(size(p.w_elements()) * static_cast<size_t>(p.groups - 1), size_t{256} << 20));
    y_ = tensor(size(p.batch * p.out_channels * std::max({own_, p.out_length(), int64_t{1}})));
    if (p.bias) b_ = tensor(size(p.b_elements()));
    if (plan_.workspace_bytes()) workspace_ = tensor(plan_.workspace_bytes());
  }

  int launches() const { return launches_; }
  int64_t own_length() const { return own_; }

  // Fills a tensor by flat index.
  template <class At>
  void set_x(At at) {
    set(*x_, p_.x_elements(), at);
  }
  template <class At>
  void set_w(At at) {
    set(*w_, p_.w_elements(), at);
  }
  // What lies beside x counts as this: NaN at first, as for the judge.
  void set_beside_x(bool one) {
    const uint32_t ones = p_.dtype == DType::f64   ? 0x3ff00000  // of a double both halves: 1.000001
                          : p_.dtype == DType::f32 ? 0x3f800000
                          : p_.dtype == DType::f16 ? 0x3c003c00
                                                   : 0x3f803f80;
    activity_.check();
    x_->lay_zones(one ? ones : 0);
  }
  // One element there, counted from the first of x; false where the zones do not reach so far.
  bool put_beside_x(int64_t at) {
    activity_.check();
    return dispatch(p_.dtype, [&](auto v) {
      v = static_cast<decltype(v)>(1);
      return x_->put_beside(at * static_cast<int64_t>(sizeof v), &v, sizeof v);
    });
  }
  void set(const Inputs& in) {
    x_->write(in.x.data(), in.x.size_bytes(), &activity_);
    w_->write(in.w.data(), in.w.size_bytes(), &activity_);
    if (b_) b_->write(in.b.data(), in.b.size_bytes(), &activity_);
  }
  template <class At>
  void set_b(At at) {
    set(*b_, p_.b_elements(), at);
  }

  double element(int64_t n, int64_t co, int64_t j) {
    run(was_there_);
    const auto seen = dispatch(p_.dtype, [&](auto v) {
      y_->read(place(n, co, j), &v, sizeof v);
      return static_cast<double>(v);
    });
    if (rest_ == 0) return seen;
    // Of whole numbers, to which the rest was added in the type's precision.
    const double without = seen - rest_, near = std::round(without);
    return std::fabs(without - near) <= 2 * traits(p_.dtype).unit_roundoff * (std::fabs(seen) + std::fabs(rest_))
               ? near
               : without;
  }
  // Elements of y beside each other, as the last run has left them.
  std::vector<double> row(int64_t n, int64_t co, int64_t first, int64_t count) {
    return dispatch(p_.dtype, [&](auto v) {
      std::vector<decltype(v)> seen(static_cast<size_t>(count));
      if (count > 0) y_->read(place(n, co, first), seen.data(), seen.size() * sizeof v);
      return std::vector<double>(seen.begin(), seen.end());
    });
  }
  // What an element is of nothing but zeros: not counted from here on.
  void leave_out(double rest) { rest_ = rest; }

  // From here on only the block that writes the element runs, where that is known to be the same: on the emulator, of a
  // kernel whose blocks have no memory in common but the tensors, when that block alone leaves `got`, bit for bit as
  // element() has just brought it. Found by halves of the grid, so it takes about as long as a run.
  void narrow(int64_t n, int64_t co, int64_t j);

  // What becomes of an element: it may be left as it was, or be added to, which a NaN does not show. Then it is zero
  // before each launch from here on.
  enum class Left { written, untouched, added_to };
  Left left(int64_t n, int64_t co, int64_t j) {
    struct Seen {
      double value, was;
      bool same;
    };
    auto after = [&](uint32_t word) {
      run(word);
      return dispatch(p_.dtype, [&](auto v) {
        auto was = v;
        for (size_t at = 0; at < sizeof was; at += std::min(sizeof word, sizeof was))
          std::memcpy(reinterpret_cast<char*>(&was) + at, &word, std::min(sizeof word, sizeof was));
        y_->read(place(n, co, j), &v, sizeof v);
        return Seen{static_cast<double>(v), static_cast<double>(was), std::memcmp(&v, &was, sizeof v) == 0};
      });
    };
    // Another NaN than lies beside x, which may have been carried here.
    const auto nan = after(result_zone_word), number = after(number_zone_word), zero = after(0);
    if (nan.same && number.same) return Left::untouched;
    const double more = number.value - zero.value;
    if (!(std::fabs(more - number.was) < 1e-2 * (std::fabs(zero.value) + number.was))) return Left::written;
    was_there_ = 0;
    return Left::added_to;
  }

  // The number below `count` that an element's only term carries: set(…) fills a tensor from flat indices, and code(e)
  // is the number that belongs at e, or −1 for zero there. Asked digit by digit, as large as the type holds; each is
  // odd, so that two terms are none. Nothing when it is no single term. A term that comes `times` times may be rounded:
  // its digits are small.
  template <class Set, class Code>
  std::optional<int64_t> decode(Set set, Code code, int64_t count, int64_t n, int64_t co, int64_t j, double times = 1) {
    const int bits = times == 1 ? traits(p_.dtype).significand_bits - 1 : 5;
    const int64_t base = std::min(count, (int64_t{1} << bits) - 1);
    int64_t number = 0, scale = 1;
    do {
      set([&](int64_t e) {
        int64_t c = code(e);
        return c < 0 ? 0 : 2 * (c / scale % base) + 1;
      });
      double value = element(n, co, j) / times;
      // Odd numbers are 2 apart, and rounding is far less.
      if (times != 1 && std::fabs(value - std::round(value)) < 0.25) value = std::round(value);
      double digit = (value - 1) / 2;
      if (!(digit >= 0) || digit != std::floor(digit) || digit >= static_cast<double>(base)) return std::nullopt;
      number += static_cast<int64_t>(digit) * scale;
      scale *= base;
    } while (scale < count);
    return number < count ? std::optional(number) : std::nullopt;
  }

 private:
  struct Part {
    int64_t launch = -1;
    uint64_t first = 0, blocks = 0;
  };
  void run(uint32_t word) {
    run(word, part_);
    launches_++;
  }
  void run(uint32_t word, const Part& part) {
    y_->fill(word, &activity_);
    device_.run(
        kernel_, plan_,
        {x_->address(), w_->address(), b_ ? b_->address() : 0, y_->address(), workspace_ ? workspace_->address() : 0},
        {.activity = &activity_, .part_of = part.launch, .first_block = part.first, .blocks = part.blocks});
    activity_.phase(phase);  // what comes between launches is not the kernel's time
  }
  uint64_t bits_of(int64_t n, int64_t co, int64_t j) const {
    uint64_t bits = 0;
    y_->read(place(n, co, j), &bits, size_of(p_.dtype));
    return bits;
  }
  size_t place(int64_t n, int64_t co, int64_t j) const {
    return static_cast<size_t>((n * p_.out_channels + co) * own_ + j) * size_of(p_.dtype);
  }
  template <class At>
  void set(GuardedTensor& t, int64_t count, At at) {
    HostTensor h = make_tensor(p_.dtype, {count}, [&](auto* out, int64_t n) {
      for (int64_t e = 0; e < n; e++) out[e] = static_cast<std::remove_pointer_t<decltype(out)>>(at(e));
    });
    t.write(h.data(), h.size_bytes(), &activity_);
  }

  Device& device_;
  const KernelDefinition& kernel_;
  const ConvProblem& p_;
  Activity& activity_;
  Plan plan_;
  int64_t own_ = 0;
  uint32_t was_there_ = red_zone_word;  // in y, before each launch
  std::unique_ptr<GuardedTensor> x_, w_, b_, y_, workspace_;
  int launches_ = 0;
  double rest_ = 0;
  Part part_;
};

}  // namespace convscope
