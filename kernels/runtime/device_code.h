// Machine code for GPUs of a kernel, wherever it comes from: what this program carries of its own files, and what was
// compiled of files from outside while it runs (compile/for_gpu.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "convscope/plan.h"
#include "kernels/runtime/binary.h"

namespace convscope {

// Its images, in no order; they stay where they are as long as the program runs. Empty when there are none.
std::vector<DeviceImage> compiled_images(const KernelDefinition& kernel);
std::vector<BinaryFacts> compiled_facts(const KernelDefinition& kernel);

// An image that was made of a kernel's file: an ELF for `architecture` (90 of sm_90).
void keep_image(const KernelDefinition& kernel, int architecture, std::shared_ptr<const std::string> elf);
// Of a kernel from outside the image for exactly this architecture, else an empty text.
std::string_view kept_image(const KernelDefinition& kernel, int architecture);

}  // namespace convscope
