#include "kernels/verify/coded_inputs.h"

#include <bit>

namespace convscope {
namespace {

// Codes are numbers of one sign and a stretch of exponents: x's positive, w's negative, b's positive and smaller, with
// room for `codes` each (b half of it in 16 bits). An element's is its index times an odd number, so that a value that
// was rounded, or a sum, is hardly ever that of another element.
struct Scheme {
  uint64_t first, first_b, sign, codes, codes_b, odd;
  int shift;
  // The first element's code: 1.0 and −1.0, which kernels have for other reasons, are hardly anyone's.
  static constexpr uint64_t begin = 0x1f35;
};
Scheme scheme_of(DType t) {
  switch (t) {
    case DType::f64:
      return {0x3ff0000000000000,
              0x3fe0000000000000,
              uint64_t{1} << 63,
              uint64_t{1} << 40,
              uint64_t{1} << 40,
              0x9e3779b97f4a7c15,
              12};
    case DType::f16:
      return {0x3c00, 0x1c00, 0x8000, 1 << 14, 1 << 13, 0x9e37, 0};
    case DType::bf16:
      return {0x3f80, 0x1f80, 0x8000, 1 << 14, 1 << 13, 0x9e37, 0};
    case DType::f32:
      break;
  }
  return {0x3f800000, 0x3b800000, 0x80000000, 1 << 26, 1 << 26, 0x9e3779b1, 0};
}

// Modulo 2^64, by Newton's iteration (each step doubles the digits that are right).
uint64_t inverse_of(uint64_t odd) {
  uint64_t v = odd;
  for (int i = 0; i < 6; i++) v *= 2 - odd * v;
  return v;
}

}  // namespace

Inputs CodedInputs::make() const {
  const Scheme s = scheme_of(p_.dtype);
  auto coded = [&](std::vector<int64_t> shape, uint64_t first, uint64_t codes, uint64_t sign) {
    return make_tensor(p_.dtype, std::move(shape), [&](auto* to, int64_t count) {
      using Bits = BitsOf<std::remove_pointer_t<decltype(to)>>;
      for (int64_t i = 0; i < count; i++)
        to[i] = std::bit_cast<std::remove_pointer_t<decltype(to)>>(
            static_cast<Bits>((first + (((static_cast<uint64_t>(i) * s.odd + s.begin) % codes) << s.shift)) | sign));
    });
  };
  Inputs in;
  in.x = coded({p_.batch, p_.in_channels, p_.length}, s.first, s.codes, 0);
  in.w = coded({p_.in_channels, p_.out_per_group(), p_.kernel_size}, s.first, s.codes, s.sign);
  in.b = coded({p_.b_elements()}, s.first_b, s.codes_b, 0);
  return in;
}

std::vector<CodedInputs::Element> CodedInputs::elements_of(uint64_t bits) const {
  const Scheme s = scheme_of(p_.dtype);
  std::vector<Element> all;
  auto look = [&](char tensor, uint64_t first, uint64_t codes, int64_t elements) {
    const uint64_t magnitude = bits & ~s.sign;
    if (magnitude < first || magnitude - first >= codes << s.shift) return;
    const uint64_t code = magnitude - first;
    if (code & ((uint64_t{1} << s.shift) - 1)) return;
    const auto index = static_cast<int64_t>(((code >> s.shift) - s.begin) * inverse_of(s.odd) % codes);
    for (int64_t i = index; i < elements; i += static_cast<int64_t>(codes)) all.push_back({tensor, i});
  };
  if (bits & s.sign)
    look('w', s.first, s.codes, p_.w_elements());
  else
    look('x', s.first, s.codes, p_.x_elements()), look('b', s.first_b, s.codes_b, p_.b_elements());
  return all;
}

std::vector<std::vector<CodedInputs::Element>> CodedInputs::halves(uint32_t bits) const {
  // One that was widened: nothing is left of it but what the type has.
  const auto value = std::bit_cast<float>(bits);
  const double narrow = rounded_to(p_.dtype, value);
  if (bits && narrow == value)
    if (auto one = elements_of(dispatch(p_.dtype,
                                        [&](auto zero) -> uint64_t {
                                          using T = decltype(zero);
                                          return std::bit_cast<BitsOf<T>>(static_cast<T>(value));
                                        }));
        !one.empty())
      return {one};
  std::vector<std::vector<Element>> all;
  for (const uint32_t half : {bits & 0xffff, bits >> 16})
    if (half) all.push_back(elements_of(half));
  return all;
}

std::vector<std::vector<CodedInputs::Element>> CodedInputs::read(uint64_t bits, unsigned bytes) const {
  std::vector<std::vector<Element>> all;
  const size_t element = size_of(p_.dtype);
  if (element == 2 && bytes >= 4) {
    for (unsigned at = 0; at < bytes; at += 4)
      for (auto& one : halves(static_cast<uint32_t>(bits >> 8 * at))) all.push_back(std::move(one));
    return all;
  }
  if (bytes < element) return bits ? std::vector(1, std::vector<Element>{}) : all;
  const uint64_t mask = element == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * element) - 1;
  for (unsigned at = 0; at < bytes; at += static_cast<unsigned>(element))
    if (const uint64_t one = bits >> 8 * at & mask) all.push_back(elements_of(one));
  return all;
}

}  // namespace convscope
