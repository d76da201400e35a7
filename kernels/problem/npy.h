// NumPy's .npy and .npz files, as the input of a problem and as the output of `run --save`.
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1 to 3); .npz is a zip
// archive of .npy files, stored or deflated (PKWARE APPNOTE 6.3.9, RFC 1951).
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/problem/tensor.h"

namespace convscope {

// Reads one array: little- or big-endian f2, f4 or f8, C or Fortran order, up to 8 dimensions.
// Arbitrary bytes are safe. Errors: InputError(field, name, what is wrong).
HostTensor read_npy(std::span<const std::byte> file, const std::string& field, const std::string& name);

// Reads the entry `wanted`.npy of an archive, or its only entry. Errors: as above, listing the entries.
HostTensor read_npz(std::span<const std::byte> file, std::string_view wanted, const std::string& field,
                    const std::string& name);

// Opens a path that ends in .npy or .npz. Errors: InputError when it is no readable regular file, or as above.
HostTensor read_array_file(const std::string& path, std::string_view wanted, const std::string& field);

// What a tensor is written as: NumPy has no bfloat16, and f32 holds every bf16 value.
DType npy_type(DType dtype);

// The bytes before the data of a version 1.0 file, C order, padded so that the data starts at a multiple of 64. The
// data that follow are of npy_type(dtype).
std::string npy_header(DType dtype, const std::vector<int64_t>& shape);

}  // namespace convscope
