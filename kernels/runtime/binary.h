// What the compiler gave a kernel, read from its device code: no driver and no GPU needed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

struct BinaryFacts {
  std::string entry;     // the extern "C" name
  int architecture = 0;  // 90: compiled for sm_90 (or sm_90a, which the container does not tell apart)
  int registers = 0;     // of a thread
  int64_t static_shared_bytes = 0;
  int64_t stack_bytes = 0;  // of a thread: its stack frame, spilled registers included
};

// Every kernel in the uncompressed ELF images of a fatbin, as nvcc writes it: the container's entries, then each
// image's sections .nv.info (register counts, frame sizes) and .nv.shared.<kernel>. What is not understood is left out;
// any bytes may be given.
std::vector<BinaryFacts> binary_facts(std::string_view fatbin);

// One uncompressed ELF image of a fatbin: what a driver loads, with its line table when it was compiled with -lineinfo.
struct DeviceImage {
  int architecture = 0;  // 90
  std::string_view elf;  // part of the fatbin
};
std::vector<DeviceImage> device_images(std::string_view fatbin);
std::vector<BinaryFacts> image_facts(const DeviceImage& image);  // of each kernel in it
// Of a kernel file, as this program carries them.
std::vector<DeviceImage> compiled_images(const std::string& kernel_file);

// A function's machine code inside of an image, and the text of the PTX that it was made of (by ptxas, with -lineinfo);
// empty when it is not there.
std::string_view code_of(std::string_view elf, const std::string& function);
// By which code_of() is known again: hash_of() in 16 hexadecimal digits.
std::string code_hash(std::string_view code);
uint32_t symbol_of(std::string_view elf, const std::string& function);  // its index in the symbol table; 0: not there
std::string ptx_of(std::string_view elf);

// Of the kernels of a file, from the device code that this program carries; empty when it was built without nvcc.
std::vector<BinaryFacts> compiled_facts(const std::string& kernel_file);

}  // namespace convscope
