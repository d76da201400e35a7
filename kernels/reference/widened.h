// The tensors of an f16 or bf16 problem as f32, for a library that has no such type: x, w and b widened (exact), y
// rounded once.
#pragma once
#include <cstdint>

#include "kernels/base/worker_pool.h"
#include "kernels/problem/tensor.h"
#include "kernels/runtime/device.h"

namespace convscope {

class Widened {
 public:
  explicit Widened(const ConvProblem& p)
      : p_(p),
        x_(bytes(p.x_elements())),
        w_(bytes(p.w_elements())),
        b_(bytes(p.b_elements())),
        y_(bytes(p.y_elements())) {}

  static size_t bytes_for(const ConvProblem& p) {
    return bytes(p.x_elements() + p.w_elements() + p.b_elements() + p.y_elements());
  }

  // Where the f32 tensors lie.
  Bindings at() const {
    auto address = [](const HostBytes& b) { return reinterpret_cast<uint64_t>(b.data()); };
    return {address(x_), address(w_), p_.bias ? address(b_) : 0, address(y_), 0};
  }
  void take_weights(const Bindings& from) const {
    widen(from.w, w_, p_.w_elements());
    if (p_.bias) widen(from.b, b_, p_.b_elements());
  }
  void take_input(const Bindings& from) const { widen(from.x, x_, p_.x_elements()); }
  void give_output(const Bindings& to) const {
    dispatch(p_.dtype,
             [&](auto zero) { each(p_.y_elements(), y_.as<float>(), reinterpret_cast<decltype(zero)*>(to.y)); });
  }

 private:
  static size_t bytes(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }
  void widen(uint64_t from, const HostBytes& to, int64_t count) const {
    dispatch(p_.dtype, [&](auto zero) { each(count, reinterpret_cast<const decltype(zero)*>(from), to.as<float>()); });
  }
  template <class From, class To>
  static void each(int64_t count, const From* from, To* to) {
    WorkerPool::shared().for_chunks(count, 1 << 16, [&](int64_t a, int64_t b) {
      for (int64_t e = a; e < b; e++) to[e] = static_cast<To>(static_cast<float>(from[e]));
    });
  }

  ConvProblem p_;
  HostBytes x_, w_, b_, y_;
};

}  // namespace convscope
