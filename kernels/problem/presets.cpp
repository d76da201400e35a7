#include "kernels/problem/presets.h"

#include "kernels/base/text.h"

namespace convscope {
namespace {

ConvProblem make(int64_t n, int64_t cin, int64_t cout, int64_t k, int64_t s, int64_t p, int64_t d, int64_t l,
                 int64_t op = 0) {
  ConvProblem q;
  q.batch = n;
  q.in_channels = cin;
  q.out_channels = cout;
  q.kernel_size = k;
  q.stride = s;
  q.padding = p;
  q.dilation = d;
  q.length = l;
  q.output_padding = op;
  return q;
}

std::vector<Preset> build() {
  std::vector<Preset> list;
  struct Bench {
    const char* name;
    const char* about;
    ConvProblem full;
    int64_t small_length;
  };
  const Bench bench[] = {
      {"kernelbench-64", "KernelBench level 1, problem 64: plain", make(64, 128, 128, 3, 1, 0, 1, 65536), 256},
      {"kernelbench-74", "KernelBench level 1, problem 74: dilated", make(32, 32, 64, 5, 1, 0, 3, 131072), 2048},
      {"kernelbench-79", "KernelBench level 1, problem 79: padded, strided, dilated",
       make(16, 32, 64, 3, 2, 1, 2, 131072), 4096},
  };
  for (const auto& b : bench) {
    list.push_back({b.name, b.about, b.full});
    ConvProblem small = b.full;
    small.batch = 1;
    small.length = b.small_length;
    list.push_back({std::string(b.name) + "-small", std::string(b.about) + ", short", small});
  }
  // Layer shapes as in shared tables of the models' public configurations: HiFi-GAN V1 generator (Kong et al. 2020),
  // EnCodec 24 kHz decoder (Défossez et al. 2022), Descript Audio Codec 44 kHz (Kumar et al. 2023), Stable Audio VAE
  // (Evans et al. 2024), Demucs (Défossez et al. 2019), WaveGAN (Donahue et al. 2018).
  auto layer = [&](const char* name, const char* about, ConvProblem p) { list.push_back({name, about, p}); };
  layer("hifigan.u1", "HiFi-GAN V1 generator, 1st upsampling", make(1, 512, 256, 16, 8, 4, 1, 800));
  layer("hifigan.u2", "HiFi-GAN V1 generator, 2nd upsampling", make(1, 256, 128, 16, 8, 4, 1, 6400));
  layer("hifigan.u3", "HiFi-GAN V1 generator, 3rd upsampling", make(1, 128, 64, 4, 2, 1, 1, 51200));
  layer("hifigan.u4", "HiFi-GAN V1 generator, 4th upsampling", make(1, 64, 32, 4, 2, 1, 1, 102400));
  layer("hifigan.u1.b16", "HiFi-GAN V1 generator, 1st upsampling, batch 16", make(16, 512, 256, 16, 8, 4, 1, 80));
  layer("hifigan.u4.b16", "HiFi-GAN V1 generator, 4th upsampling, batch 16", make(16, 64, 32, 4, 2, 1, 1, 10240));
  layer("encodec.d1", "EnCodec 24 kHz decoder, 1st upsampling", make(1, 512, 256, 16, 8, 0, 1, 750));
  layer("encodec.d2", "EnCodec 24 kHz decoder, 2nd upsampling", make(1, 256, 128, 10, 5, 0, 1, 6000));
  layer("encodec.d3", "EnCodec 24 kHz decoder, 3rd upsampling", make(1, 128, 64, 8, 4, 0, 1, 30000));
  layer("encodec.d4", "EnCodec 24 kHz decoder, 4th upsampling", make(1, 64, 32, 4, 2, 0, 1, 120000));
  layer("dac.d1", "Descript Audio Codec 44 kHz decoder, 1st upsampling", make(1, 1536, 768, 16, 8, 4, 1, 860));
  layer("dac.d2", "Descript Audio Codec 44 kHz decoder, 2nd upsampling", make(1, 768, 384, 16, 8, 4, 1, 6880));
  layer("dac.d3", "Descript Audio Codec 44 kHz decoder, 3rd upsampling", make(1, 384, 192, 8, 4, 2, 1, 55040));
  layer("dac.d4", "Descript Audio Codec 44 kHz decoder, 4th upsampling", make(1, 192, 96, 4, 2, 1, 1, 220160));
  layer("oobleck.d1", "Stable Audio VAE decoder, 1st upsampling", make(1, 2048, 1024, 20, 10, 5, 1, 215));
  layer("oobleck.d5", "Stable Audio VAE decoder, last upsampling", make(1, 128, 128, 4, 2, 1, 1, 344000));
  layer("demucs.d", "Demucs decoder", make(4, 64, 64, 8, 4, 0, 1, 42000));
  layer("wavegan.d1", "WaveGAN generator, 1st upsampling", make(64, 1024, 512, 25, 4, 11, 1, 16, 1));
  layer("wavegan.d4", "WaveGAN generator, 4th upsampling", make(64, 128, 64, 25, 4, 11, 1, 1024, 1));
  return list;
}

}  // namespace

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = build();
  return list;
}

std::string preset_in_words(const ConvProblem& p) {
  for (const auto& preset : presets()) {
    ConvProblem same = preset.problem;
    same.dtype = p.dtype, same.bias = p.bias;
    if (!(same == p)) continue;
    std::string words = preset.name;
    if (p.dtype != preset.problem.dtype) words += ", " + std::string(name_of(p.dtype));
    if (p.bias != preset.problem.bias) words += p.bias ? ", with a bias" : ", without a bias";
    return words;
  }
  return "";
}

const Preset& find_preset(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& p : presets()) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  std::string near = nearest_name(name, names);
  throw InputError(
      "preset", std::string(name),
      near.empty() ? "is not known: see `convscope list presets`" : "is not known; did you mean " + near + "?");
}

}  // namespace convscope
