// Launches of a kernel file's plan that stand for what PyTorch or cuBLAS would launch (convscope/products.h).
#pragma once
#include <string>
#include <string_view>

namespace convscope {

class Plan;

// Of a launch's entry: none of the file's kernels, but a copy, a sum, a product, zeros.
inline bool is_stand_in(std::string_view entry) { return entry.starts_with("convscope_"); }

// What is to be said beside its times, as the end of a sentence, or "": they are not those of the library's products.
std::string stand_in_words(const Plan& plan);

}  // namespace convscope
