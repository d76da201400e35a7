#include "kernels/planner/export.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <sstream>
#include <stdexcept>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/planner/export_python.h"
#include "kernels/planner/reserved_names.h"
#include "kernels/planner/target.h"
#include "kernels/runtime/sources.h"

namespace convscope {
namespace {

std::string_view text_of(const std::string& file) {
  for (const auto& s : kernel_sources())
    if (s.file == file) return s.text;
  throw std::logic_error("the text of " + file + " is not carried by the program");
}

// A line `MACRO(name, …)` that defines one form of a kernel: MACRO and name.
std::pair<std::string, std::string> macro_of(const std::string& line) {
  size_t bracket = line.find('('), comma = line.find(',');
  if (!line.starts_with("CONVSCOPE_") || bracket > comma || comma == line.npos) return {};
  return {line.substr(0, bracket), line.substr(bracket + 1, comma - bracket - 1)};
}

// Without the forms of a kernel that this problem does not launch: lines `F(name, …)` of a list of forms, and lines
// `MACRO(name, …)` where another of the same macro defines one that is launched.
std::string only_launched(const std::string& text, const Plan& plan) {
  auto is_launched = [&](std::string_view name) {
    return std::any_of(plan.launches().begin(), plan.launches().end(),
                       [&](const Launch& l) { return l.entry.name == name; });
  };
  std::set<std::string> macros;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (auto [macro, name] = macro_of(line); is_launched(name)) macros.insert(macro);
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (auto [macro, name] = macro_of(line); macros.contains(macro) && !is_launched(name)) continue;
    // A line of a list, or a list of one: `#define LIST(F) F(form, …)`.
    size_t one = line.starts_with("#define ") ? line.find("(F) F(") : std::string::npos;
    size_t at = one != std::string::npos ? one + 4 : line.starts_with("  ") ? line.find_first_not_of(' ') : line.size();
    std::string_view rest = std::string_view(line).substr(std::min(at, line.size()));
    if (rest.starts_with("F(") && rest.find(',') != rest.npos) {
      std::string_view name = rest.substr(2, rest.find(',') - 2);
      if (!is_launched(name)) line = one != std::string::npos ? line.substr(0, at) : rest.ends_with('\\') ? "  \\" : "";
    }
    out += line + '\n';
  }
  return out;
}

// Lines of a file, with includes replaced and conditions on __CUDACC__ decided as nvcc decides them.
class Flattener {
 public:
  std::string of(const std::string& file) {
    add(file);
    return std::move(out_);
  }

 private:
  enum class Branch : uint8_t { kept, dropped, open };  // open: a condition that is left to the compiler

  void add(const std::string& file) {
    if (!done_.insert(file).second) return;
    std::vector<Branch> branches;
    auto dropped = [&] { return std::find(branches.begin(), branches.end(), Branch::dropped) != branches.end(); };
    std::istringstream in{std::string(text_of(file))};
    for (std::string line; std::getline(in, line);) {
      std::string_view word = std::string_view(line).substr(std::min(line.find_first_not_of(" \t"), line.size()));
      if (word.starts_with("#if")) {
        branches.push_back(decided(word));
        if (branches.back() == Branch::open && !dropped()) out_ += line + '\n';
      } else if (word.starts_with("#elif") && branches.back() != Branch::open) {
        throw std::logic_error(file + ": #elif after a condition on __CUDACC__");
      } else if (word.starts_with("#else") && branches.back() != Branch::open) {
        branches.back() = branches.back() == Branch::kept ? Branch::dropped : Branch::kept;
      } else if (word.starts_with("#endif")) {
        Branch ended = branches.back();
        branches.pop_back();
        if (ended == Branch::open && !dropped()) out_ += line + '\n';
      } else if (dropped() || word.starts_with("#pragma once")) {
        continue;
      } else if (word.starts_with("#include \"")) {
        std::string name(word.substr(10, word.find('"', 10) - 10));
        add(name.starts_with("convscope/") ? "kernels/runtime/include/" + name
                                           : file.substr(0, file.rfind('/') + 1) + name);
      } else {
        out_ += line + '\n';
      }
    }
  }

  static Branch decided(std::string_view condition) {
    auto is = [&](std::string_view text) { return condition == text; };
    if (is("#ifdef __CUDACC__") || is("#if defined(__CUDACC__)")) return Branch::kept;
    if (is("#ifndef __CUDACC__") || is("#if defined(__CUDACC_RTC__)")) return Branch::dropped;
    return Branch::open;
  }

  std::string out_;
  std::set<std::string> done_;
};

const char* name_of(Tensor t) {
  constexpr const char* names[] = {"x", "w", "b", "y", "workspace"};
  return names[static_cast<size_t>(t)];
}

std::string address(const TensorRef& t) {
  std::string name = name_of(t.tensor);
  return t.offset_bytes ? fmt::format("static_cast<const char*>({}) + {}", name, t.offset_bytes) : name;
}

template <class T>
std::string list_of(const T& values, int count) {
  std::string text;
  for (int i = 0; i < count; i++) text += fmt::format("{}{}", i ? ", " : "", values[static_cast<size_t>(i)]);
  return text;
}

std::string problem_args(const ConvProblem& p) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", p.batch, p.in_channels, p.out_channels,
                     p.kernel_size, p.length, p.out_length(), p.stride, p.padding, p.output_padding, p.dilation,
                     p.groups);
}

// One argument as a variable a0, a1, … of the launch's scope.
std::string variable(const Argument& a, size_t i, const ConvProblem& p, bool bias) {
  if (a.is_view) {
    const TensorView& v = a.view;
    return fmt::format(
        "    TensorMap a{};\n    {{\n      const cuuint64_t sizes[] = {{{}}}, strides[] = {{{}}};\n"
        "      const cuuint32_t box[] = {{{}}};\n"
        "      if (int e = describe(a{}, CU_TENSOR_MAP_DATA_TYPE_{}, {}, {}, sizes, strides, box, {})) return e;\n    "
        "}}\n",
        i, list_of(v.sizes, v.rank),
        list_of(std::vector<int64_t>(v.stride_bytes.begin() + 1, v.stride_bytes.end()), v.rank - 1),
        list_of(v.box, v.rank), i, v.stride_bytes[0] == 2 ? "BFLOAT16" : "FLOAT32", address(v.tensor), v.rank,
        v.swizzled);
  }
  if (a.is_tensor) {
    if (a.tensor.tensor == Tensor::b && !bias) return fmt::format("    const void* a{} = nullptr;\n", i);
    return fmt::format("    const void* a{} = {};\n", i, address(a.tensor));
  }
  ConvArgs problem = p.args();
  if (a.size == sizeof problem && std::memcmp(a.value.data(), &problem, sizeof problem) == 0)
    return fmt::format("    ConvArgs a{} = {{{}}};\n", i, problem_args(p));
  std::string bytes;
  for (size_t k = 0; k < a.size; k++) bytes += fmt::format("{}{}", k ? "," : "", static_cast<unsigned>(a.value[k]));
  return fmt::format("    alignas(64) unsigned char a{}[] = {{{}}};\n", i, bytes);
}

std::string launch_text(const Launch& l, const ConvProblem& p) {
  std::string text = packs(l) ? "  if (pack) {\n" : "  if (pack != 2) {\n", names;
  for (size_t i = 0; i < l.arguments.size(); i++) {
    text += variable(l.arguments[i], i, p, p.bias);
    bool bytes = text.find(fmt::format("char a{}[]", i)) != std::string::npos;
    names += fmt::format("{}{}a{}", i ? ", " : "", bytes ? "" : "&", i);
  }
  if (l.dynamic_shared_bytes > 0)  // the 48 KiB that need no asking hold static shared memory as well
    text += fmt::format(
        "    if (int e = cudaFuncSetAttribute(reinterpret_cast<const void*>({}), "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, {}))\n"
        "      return e == cudaErrorInvalidValue ? cudaErrorInvalidConfiguration : e;\n",
        l.entry.name, l.dynamic_shared_bytes);
  text += fmt::format(
      "    void* arguments[] = {{{}}};\n"
      "    if (int e = launch(reinterpret_cast<const void*>({}), dim3({}, {}, {}), dim3({}, {}, {}), arguments, {}, "
      "stream, {})) return e;\n  }}\n",
      names, l.entry.name, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, l.dynamic_shared_bytes,
      l.early);
  return text;
}

// What costs nothing to see of the addresses; the copy engine and wide loads and stores rest on the alignments.
std::string checks(const ConvProblem& p, const Plan& plan) {
  bool packing = false, running = false;  // which of them reads w
  for (const Launch& l : plan.launches()) (packs(l) ? packing : running) |= l.is_given(Tensor::w);
  size_t element = size_of(p.dtype);
  std::string text = fmt::format("  if ({}wrong(w, {})) return cudaErrorInvalidValue;\n",
                                 packing && running ? ""
                                 : packing          ? "pack && "
                                                    : "pack != 2 && ",
                                 element);
  text += fmt::format("  if (pack != 2 && (wrong(x, 16) || wrong(y, 16){})) return cudaErrorInvalidValue;\n",
                      p.bias ? fmt::format(" || wrong(b, {})", element) : "");
  if (plan.workspace_bytes()) text += "  if (wrong(workspace, 256)) return cudaErrorInvalidValue;\n";
  return text;
}

std::string architecture(const KernelDefinition& k) {
  for (const auto& h : k.requires_hardware())
    if (h.starts_with("sm_")) return h;
  return "";
}

// Of shared memory, that a block asks for when it is launched.
size_t shared_bytes(const Plan& plan) {
  size_t most = 0;
  for (const Launch& l : plan.launches()) most = std::max(most, l.dynamic_shared_bytes);
  return most;
}

// " of compute capability 8.0 or higher that gives …": which GPUs run it; "" for any.
std::string gpus(const KernelDefinition& k, const Plan& plan) {
  const std::string arch = architecture(k);
  std::string text = arch == "sm_90a"  ? " of compute capability 9.0"
                     : arch == "sm_80" ? " of compute capability 8.0 or higher"
                                       : "",
              without;
  for (const TargetArchitecture& a : target_architectures())
    if (Target::of_architecture(fmt::format("sm_{}", a.sm)).unavailable(k).empty() &&
        static_cast<size_t>(a.shared_bytes_per_block) < shared_bytes(plan))
      without += fmt::format("{}{}.{}", without.empty() ? "" : ", ", a.sm / 10, a.sm % 10);
  if (!without.empty())
    text += fmt::format(" that gives a block {} bytes of shared memory (not {})", shared_bytes(plan), without);
  return text;
}

// The rules of the C function, for whoever calls it from elsewhere than the Python file.
std::string rules(const ConvProblem& p, const Plan& plan, const std::string& function) {
  bool packing = std::any_of(plan.launches().begin(), plan.launches().end(), packs);
  std::string text = fmt::format(
      "// {}y [{}, {}, {}]: contiguous, on the device, x and y on 16 bytes.\n"
      "// {}() only launches, on `stream` of the current device, and returns a cudaError_t: 0 when all\n"
      "// launches are on their way, cudaErrorInvalidValue for an address that is null or not aligned{}.\n",
      p.bias ? fmt::format("b [{}], ", p.out_channels) : "b is not read and may be null, ", p.batch, p.out_channels,
      plan.out_length(), function,
      shared_bytes(plan) ? fmt::format(",\n// cudaErrorInvalidConfiguration where the GPU gives a block less shared "
                                       "memory than {} bytes",
                                       shared_bytes(plan))
                         : "");
  if (plan.workspace_bytes())
    text += fmt::format(
        "// workspace: {}_workspace() bytes of the device, on 256 bytes. It holds {}:\n"
        "// one for each stream, and launches of two host threads must not mix in it.\n",
        function, packing ? "packed weights, and may hold counters and partial sums" : "partial sums");
  else
    text += "// workspace: none, may be null.\n";
  text += packing
              ? "// pack: 1 packs the weights and runs: the first call with a workspace needs it, and one after they "
                "changed.\n// 0: they are as this workspace has them from the last call that packed.\n"
                "// 2: packs them and does no more; x, b and y may be null.\n"
              : "// pack: of no effect, the weights are read as they lie (2: does nothing).\n";
  return text;
}

constexpr const char* launch_function = R"(
// Whether an address is none, or not on so many bytes.
bool wrong(const void* p, size_t bytes) { return !p || reinterpret_cast<size_t>(p) % bytes; }

// early: the kernel may begin before the launch before it has ended, and waits for it by itself.
int launch(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, void* stream, bool early) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute, config.numAttrs = early;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
)";

constexpr const char* describe_function = R"(
// A tensor as the copy engine reads or writes it. The driver's function, without linking the driver.
int describe(TensorMap& map, CUtensorMapDataType type, const void* address, unsigned rank, const cuuint64_t* sizes,
             const cuuint64_t* strides, const cuuint32_t* box, bool swizzled) {
  static const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuTensorMapEncodeTiled"));
  if (!encode) return cudaErrorInsufficientDriver;
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  return encode(reinterpret_cast<CUtensorMap*>(&map), type, rank, const_cast<void*>(address),
                sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
                CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
             ? cudaErrorInvalidValue
             : 0;
}
)";

// Headers that lines of a text include are taken out of it, each once.
std::string take_includes(std::string& text) {
  std::string kept, includes;
  int conditions = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    conditions += line.starts_with("#if") - line.starts_with("#endif");
    if (!line.starts_with("#include <")) {
      kept += line + '\n';
      continue;
    }
    if (conditions) throw std::logic_error("a condition on " + line);
    if (includes.find(line + '\n') == std::string::npos) includes += line + '\n';
  }
  text = kept;
  return includes;
}

// A kernel's name is for its own file: two exports are linked into one program.
void within_the_file(std::string& text) {
  constexpr std::string_view outward = "extern \"C\" __global__";
  for (size_t at = 0; (at = text.find(outward, at)) != std::string::npos;)
    text.replace(at, outward.size(), "__global__");
}

// A name that C and C++ take, and that nothing in the file has.
void require_function(const std::string& name, const std::string& text) {
  auto in_names = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), in_names) || name[0] == '_' ||
      std::isdigit(static_cast<unsigned char>(name[0])) || name.find("__") != std::string::npos || is_keyword(name))
    throw InputError("function", name,
                     "must be a name in C: up to 64 letters, digits and single _, a letter first, no keyword");
  if (is_library_name(name))
    throw InputError("function", name, "is a name of the C library or of CUDA's headers: take another name");
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at++)
    if ((at == 0 || !in_names(text[at - 1])) && (at + name.size() == text.size() || !in_names(text[at + name.size()])))
      throw InputError("function", name, "is a word of the kernel's own text: take another name");
}

// In the docstring: what inputs may hold.
std::string values_of(const KernelDefinition& k) {
  if (k.kind() == KernelKind::specimen) return "Values: a specimen, wrong on purpose: right only for some problems.";
  constexpr const char* texts[] = {
      "Values: any. Inf and NaN in x, weight or bias go where the definition has them go.",
      "Values: a finite weight. At the ends of a row zeros stand for what is outside x, and are multiplied: where the\n"
      "weight holds Inf or NaN, outputs there may be NaN. Inf and NaN in x reach what their taps reach, and no more.",
      "Values: finite ones. The packed weight holds zeros where no tap is, and these are multiplied too: where x\n"
      "holds Inf or NaN, outputs that no tap of it reaches may be NaN; where the weight does, those at a row's ends.",
  };
  std::string text = texts[static_cast<size_t>(spread_of(k))];
  const std::string bits = k.accuracy() == "tf32" ? "28" : "15";
  if (k.name().starts_with("ordered_") && k.name().ends_with("xf16"))
    text += "\nAn output all of whose values of x are smaller than another one within 128 positions by 2^-" + bits +
            " loses\nbits, and so does one within 128 positions of Inf.";
  else if (k.name().ends_with("xf16"))
    text += k.accuracy() == "tf32"
                ? "\nAn output all of whose values of x are smaller than their neighbours by 2^-25 loses bits."
                : "\nAn output all of whose values of x are smaller than their neighbours by 2^-15 loses bits.";
  else if (k.accuracy() == "3xtf32")
    text += "\nInf, and what is 2^127 or larger, may come out as NaN: it has no two TF32 parts.";
  return text;
}

}  // namespace

Spread spread_of(const KernelDefinition& k) {
  for (const char* only_what_lands : {"direct", "scatter", "polyphase", "depthwise"})
    if (k.name() == only_what_lands) return Spread::none;
  for (const char* class_by_class : {"tiled", "registers", "mma_tf32", "mma_3xtf32", "mma_16bit"})
    if (k.name() == class_by_class) return Spread::of_weight;
  return Spread::of_both;
}

std::string flattened(const std::string& file) { return Flattener().of(file); }

std::string exported_cuda(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then,
                          const ExportedAs& as) {
  Plan plan = kernel.plan_for(p);
  bool views = false;
  std::string launches;
  for (const Launch& l : plan.launches()) {
    launches += launch_text(l, p);
    for (const Argument& a : l.arguments) views |= a.is_view;
  }
  const std::string needs = architecture(kernel), &f = as.function;
  // Hopper's own instructions are in no other architecture's code.
  const std::string compiled_for = needs.ends_with('a')       ? needs
                                   : !as.architecture.empty() ? as.architecture
                                   : needs.empty()            ? "native"
                                                              : needs;
  std::string own = only_launched(flattened(kernel.file()), plan);
  within_the_file(own);
  if (views) own += describe_function;
  own += launch_function;
  require_function(f, own);
  const std::string includes = take_includes(own);
  const std::string prototype = fmt::format(
      "int {}(const void* x, const void* w, const void* b, void* y, void* workspace, int pack,\n{}void* stream)", f,
      "@");
  auto with_indent = [&](size_t more, const char* before) {
    std::string text = prototype;
    return text.replace(text.find('@'), 1, before + std::string(5 + f.size() + more, ' '));
  };
  std::string text = fmt::format(
      "// ConvTranspose1d of {}: {}{}\n"
      "// Kernel {} of convscope{}{} ({}), {} accuracy: {}.\n"
      "// {}For an NVIDIA GPU{}.\n"
      "// SPDX-License-Identifier: MIT\n"
      "//\n"
      "//   nvcc -O3 -std=c++20 -arch={} -shared -Xcompiler -fPIC -o {}.so THIS_FILE\n"
      "//\n"
      "//   size_t {}_workspace(void);\n"
      "//   {};\n"
      "//\n"
      "// In C++ these are extern \"C\". Everything else is the file's own: files with functions of different names\n"
      "// (export --function NAME) may be linked into one program{}.\n"
      "//\n"
      "// x [{}, {}, {}], w [{}, {}, {}],\n{}",
      name_of(p.dtype), describe(p), then ? ", and then " + then.name() + ", fused" : "", kernel.name(),
      as.version.empty() ? "" : " ", as.version, kernel.file(), kernel.accuracy(), kernel.idea(),
      kernel.kind() == KernelKind::specimen ? "A specimen, wrong on purpose: right only for some problems. " : "",
      gpus(kernel, plan), compiled_for, f, f, with_indent(0, "//   "),
      // ptxas then keeps registers for functions that it does not see, and does one product after the other.
      needs.ends_with('a') ? "; not with -rdc=true, which makes it slow" : "", p.batch, p.in_channels, p.length,
      p.in_channels, p.out_per_group(), p.kernel_size, rules(p, plan, f));
  text += "#include <cuda_runtime.h>\n";
  if (views) text += "#include <cuda.h>\n#include <dlfcn.h>\n";
  text += includes;
  if (then) text += "\n// What every finished sum goes through before it is stored.\n" + then.macro();
  // Constants that only other forms of the kernel use.
  text += "\n#pragma nv_diag_suppress 177\n\nnamespace {\n\n" + own + "\n}  // namespace\n";
  text += fmt::format(
      "\nextern \"C\" size_t {}_workspace() {{ return {}; }}\n\n"
      "extern \"C\" {} {{\n{}{}  return 0;\n}}\n",
      f, plan.workspace_bytes(), with_indent(11, ""), checks(p, plan), launches);
  return text;
}

std::string exported_pytorch(const KernelDefinition& kernel, const ConvProblem& p, const Activation& then,
                             const ExportedAs& as) {
  std::string text = python_template;
  std::string arch = architecture(kernel);
  auto put = [&](std::string_view mark, const std::string& value) {
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
  };
  auto boolean = [](bool b) { return b ? "True" : "False"; };
  put("@KERNEL@", kernel.name());
  put("@ACCURACY@", kernel.accuracy());
  put("@DESCRIPTION@", describe(p));
  const Plan plan = kernel.plan_for(p);
  put("@GPUS@", gpus(kernel, plan));
  put("@BY@", as.version.empty() ? "" : " of convscope " + as.version);
  put("@ARCH@", arch);
  put("@SHARED@", std::to_string(shared_bytes(plan)));
  put("@VALUES@", values_of(kernel));
  put("@PACKS@", boolean(std::any_of(plan.launches().begin(), plan.launches().end(), packs)));
  put("@OUTPG@", std::to_string(p.out_per_group()));
  put("@THEN@", then ? ", and then " + then.name() : "");
  put("@APPLIES@", then ? fmt::format("\n\n    forward(x) ends with the activation, fused: {}.", then.name()) : "");
  put("@FUSED@", then ? fmt::format(activation_note, then.pytorch()) : "");
  put("@IN@", std::to_string(p.in_channels)), put("@OUT@", std::to_string(p.out_channels));
  put("@K@", std::to_string(p.kernel_size)), put("@S@", std::to_string(p.stride)),
      put("@P@", std::to_string(p.padding));
  put("@OP@", std::to_string(p.output_padding)), put("@D@", std::to_string(p.dilation));
  put("@G@", std::to_string(p.groups)), put("@BIAS@", boolean(p.bias));
  constexpr const char* torch_names[] = {"float32", "float64", "float16", "bfloat16"};  // in the order of DType
  put("@DTYPE@", torch_names[static_cast<size_t>(p.dtype)]);
  put("@N@", std::to_string(p.batch)), put("@L@", std::to_string(p.length)),
      put("@LOUT@", std::to_string(p.out_length()));
  put("@CUDA@",
      exported_cuda(kernel, p, then,
                    {"conv_transpose1d", as.architecture, as.version}));  // last: its text is not searched for marks
  return text;
}

}  // namespace convscope
