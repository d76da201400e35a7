// "Keep measuring": a rate, times and counters that go on in the Counters panel, on a GPU of fakes and on the emulator.
#include <filesystem>
#include <gtest/gtest.h>

#include "tests/app/model/benches.h"
#include "tests/app/ui/screen.h"
#include "tests/fakes/setting.h"

namespace convscope::ui {
namespace {

using test::Setting;

bool on_screen(test::AppOnScreen& a, const std::string& text) {
  a.screen.frames(*a, 2);
  return a.screen.text(*a).find(text) != std::string::npos;
}

TEST(MonitorPanel, GoesOnUntilEscape) {
  test::AppOnScreen a("", test::quick_document(40, "tiled"));
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().runs().report() && a->bench().runs().report()->final; }));
  a->show_only("Counters");
  auto rests = [&] { return !a->bench().measuring().waits() && a->bench().profile_of(a->document()); };
  ASSERT_TRUE(a.screen.until(*a, rests));
  EXPECT_TRUE(on_screen(a, "Keep measuring"));
  a.screen.press(*a, ImGuiKey_F8);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().measuring().monitor().calls >= 5; }))
      << a->bench().measuring().monitor().trouble;
  for (const char* text : {"Stop measuring", "a second", "last call", "spread", "emulated: host time"})
    EXPECT_TRUE(on_screen(a, text)) << text;
  // Another problem: measured anew, without a word.
  a->execute({SetKernel{"direct"}});
  ASSERT_TRUE(a.screen.until(*a, [&] {
    const Monitor& m = a->bench().measuring().monitor();
    return m.document.kernel == "direct" && m.calls >= 2;
  }));
  a.screen.press(*a, ImGuiKey_Escape);
  a.screen.frames(*a, 3);
  EXPECT_FALSE(a->bench().measuring().monitor().on);
  ASSERT_TRUE(a.screen.until(*a, rests));
  EXPECT_TRUE(on_screen(a, "Keep measuring"));
}

TEST(MonitorPanel, ShowsWhatAGpuCounts) {
  const std::string fakes = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fakes").string();
  if (!std::filesystem::exists(fakes + "/libfake_cuda.so") || !std::filesystem::exists(fakes + "/whole/libcupti.so.13"))
    GTEST_SKIP() << "this build has no GPU side";
  Setting cuda("CONVSCOPE_LIBCUDA", fakes + "/libfake_cuda.so"),
      cupti("CONVSCOPE_LIBCUPTI", fakes + "/whole/libcupti.so.13"),
      nvml("CONVSCOPE_LIBNVML", fakes + "/libfake_nvml.so"), cudnn("CONVSCOPE_LIBCUDNN", "/nowhere"),
      kernels("FAKE_CUPTI_KERNELS", "direct_f32"), time("FAKE_CUDA_KERNEL_US", "1000");
  Document d = test::quick_document(64, "direct");
  d.device = "cuda";
  test::AppOnScreen a("", d);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().runs().report() && a->bench().runs().report()->final; }));
  a->show_only("Counters");
  a.screen.press(*a, ImGuiKey_F8);
  ASSERT_TRUE(a.screen.until(*a, [&] { return a->bench().measuring().monitor().calls >= 20; }))
      << a->bench().measuring().monitor().trouble;
  const Monitor& m = a->bench().measuring().monitor();
  EXPECT_EQ(m.source, "recorded");
  EXPECT_GE(m.per_second(), 5) << "calls of a millisecond, as fast as a person can see";
  int counted = 0;
  for (const auto& h : m.latest->headlines) counted += h.value.has_value();
  EXPECT_GE(counted, 3);
  for (const char* text : {"recorded by CUPTI", "counted by hardware", "direct's last call"})
    EXPECT_TRUE(on_screen(a, text)) << text;
}

}  // namespace
}  // namespace convscope::ui
