#include "tests/app/model/sessions.h"

#include <filesystem>
#include <fstream>

#include "kernels/problem/npy.h"

namespace convscope::test {

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string write_npy(const ScratchFolder& folder, const std::string& name, const std::vector<int64_t>& shape) {
  std::string bytes = npy_header(DType::f32, shape);
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  for (int64_t i = 0; i < count; i++) {
    float v = 0.25f * static_cast<float>(i % 64);
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
  return folder.write(name, bytes.data(), bytes.size());
}

SessionFile unusual_session(const ScratchFolder& folder) {
  auto file = [&](const std::string& name, const std::vector<int64_t>& shape) {
    TensorSource s{InputKind::file, write_npy(folder, name, shape), {}};
    s.values = read_array_file(s.file, "x", "input");
    return s;
  };
  SessionFile s;
  Document& d = s.document;
  ConvProblem p;
  p.batch = 2, p.in_channels = 4, p.out_channels = 6, p.kernel_size = 5, p.length = 9;
  p.stride = 3, p.padding = 1, p.output_padding = 1, p.dilation = 2, p.groups = 2, p.bias = true;
  d.problem = p;
  d.kernel = "polyphase";
  d.compare_with = "onednn";
  d.device = "emulator";
  d.inputs.seed = 0xfedcba9876543210;
  d.inputs.x = file("values/x.npy", {2, 4, 9});
  d.inputs.w = file("w.npy", {4, 3, 5});
  d.inputs.b = {InputKind::ramp, {}, {}};
  d.accuracy = Accuracy::tf32x3;
  d.atol = 1e-3, d.rtol = 0;
  s.view.row0 = 1, s.view.row1 = 4.5, s.view.column0 = 2.25, s.view.column1 = 11;
  s.view.selected = ElementIndex{3, 7};
  s.view.show_classes = true;
  s.view.difference_is_ratio = false;
  s.view.from_input = true;
  s.view.colours = {ColourRange{-0.1, 1 / 3.0}, up_to(ColourScale::error, 2e-6), up_to(ColourScale::ratio, 30)};
  s.unknown = {{"note", "kept"}, {"other", {{"nested", {1, 2, 3}}}}};
  return s;
}

}  // namespace convscope::test
