// A kernel as a file of its own, for one problem: what somebody takes away who has found the best one.
#pragma once
#include <string>

#include "kernels/planner/activation.h"

namespace convscope {

struct ExportedAs {
  std::string function = "conv_transpose1d";  // of a CUDA file: files of different names are linked into one program
  std::string architecture = "";              // that it was chosen for: nvcc's command line names it; "": not known
  std::string version = "";                   // of the program, which the head names
};

// CUDA C++ with a plain C function, whose name `as` has:
//   size_t conv_transpose1d_workspace();
//   int conv_transpose1d(const void* x, const void* w, const void* b, void* y, void* workspace, int pack, void*
//   stream);
// x [N, Cin, L], w [Cin, Cout/groups, K], b [Cout] (null only where there is none), y [N, Cout, Lout], all contiguous
// on the device, x and y on 16 bytes; the workspace has conv_transpose1d_workspace() bytes on 256, one for each stream.
// pack: 1 packs weights and runs (the first call with a workspace, and when weights have changed), 0 runs, 2 only
// packs. Returns a cudaError_t: 0 when all launches are on their way, cudaErrorInvalidValue for an address that is null
// or not aligned, cudaErrorInvalidConfiguration where the GPU has too little shared memory. The file's head says all of
// this to whoever has only the file; all but the two functions is in an unnamed namespace. y is what `then` makes of
// the layer's output, in the same pass. The problem must be legal and one that the kernel takes, and the kernel must be
// able to have the activation. Errors: InputError("function", …) for a name that C++ or the file itself has;
// std::logic_error when a text is not carried along.
std::string exported_cuda(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then = {},
                          const ExportedAs& as = {});

// A Python file with a class ModelNew in the place of torch.nn.ConvTranspose1d (from_layer(), and its state_dict
// loads), or of the Model of a KernelBench problem: the same parameters, drawn in the same order. It compiles the CUDA
// text above with nvcc when first used. For inference: where a gradient is asked for it raises RuntimeError. The
// docstring has the rules on values, streams, threads, changed weights and CUDA graphs; tests/exported runs the class
// without a GPU.
std::string exported_pytorch(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then = {},
                             const ExportedAs& as = {});

// Which outputs may be NaN where the definition has a number, if x or the weight holds Inf or NaN: zeros that stand for
// what is not there are multiplied.
enum class Spread : uint8_t {
  none,       // no outputs: only taps that land are multiplied
  of_weight,  // zeros stand for x outside its rows: at their ends, with such a weight
  of_both,    // the packed weight has zeros where no tap is as well: also others, with such an x
};
Spread spread_of(const KernelDefinition& kernel);

// A kernel file's text with what it includes put in its place and what only the host compiler sees left out.
std::string flattened(const std::string& file);

}  // namespace convscope
