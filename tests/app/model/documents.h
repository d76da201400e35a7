// Random documents and changes, legal and not, and what makes a document legal.
#pragma once
#include <string>

#include "app/model/document.h"
#include "tests/convolution.h"

namespace convscope::test {

// "" or why this could never have been made by a change.
std::string why_illegal(const Document& d);

// A file's tensor of a shape, as if it had been read.
TensorSource file_source(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::f32);

// Any change: about a third of them is illegal.
Change random_change(Random& r, const Document& now);

// A small problem that every kernel of `kernels` runs in milliseconds on the emulator.
Document small_document(Random& r);

// A small problem, done in milliseconds by `direct`, which is right.
Document quick_document(int64_t length = 40, const std::string& kernel = "direct");

}  // namespace convscope::test
