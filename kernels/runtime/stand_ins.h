// Launches of a kernel file's plan that stand for what PyTorch or cuBLAS would launch (convscope/products.h).
#pragma once
#include <string>

namespace convscope {

class Plan;

// What is to be said beside its times, as the end of a sentence, or "": they are not those of the library's products.
std::string stand_in_words(const Plan& plan);

}  // namespace convscope
