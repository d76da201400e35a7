// convscope demo: the whole tour, its report and pictures; and what is kept of one that was stopped.
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <png.h>
#include <set>
#include <thread>

#include "tests/app/cli/cli.h"
#include "tests/support.h"

namespace convscope {
namespace {

namespace fs = std::filesystem;
using test::json;
using test::text_file;
using test::Words;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) n++;
  return n;
}

// Width and height of a picture that libpng reads to its end; more than one colour, unless it says otherwise.
std::pair<unsigned, unsigned> decoded(const std::string& path, size_t* colours = nullptr) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) return {0, 0};
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(image));
  bool whole = png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr) != 0;
  std::set<uint32_t> seen;
  for (size_t i = 0; i + 2 < rgb.size(); i += 3) seen.insert(rgb[i] << 16 | rgb[i + 1] << 8 | rgb[i + 2]);
  if (colours) *colours = seen.size();
  png_image_free(&image);
  return whole ? std::pair{image.width, image.height} : std::pair{0u, 0u};
}

// One file: nothing in it is fetched from anywhere, and nothing of this machine is in it.
void expect_self_contained(const std::string& html) {
  for (const char* part : {"http:", "https:", "src=\"/", "file:", "url(", "@import", "<link", "<iframe"})
    EXPECT_EQ(count(html, part), 0u) << part;
  EXPECT_EQ(count(html, "src="), count(html, "src=\"data:image/png;base64,"));
  for (size_t at = html.find("href=\""); at != std::string::npos; at = html.find("href=\"", at + 1))
    EXPECT_EQ(html[at + 6], '#');
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_EQ(count(html, "<details"), count(html, "</details>"));
  EXPECT_EQ(count(html, "<table>"), count(html, "</table>"));
  EXPECT_EQ(html.find(fs::current_path().string()), std::string::npos) << "a path of this machine";
}

// What `./dev run` shows where there is no display.
TEST(Demo, ShowsEveryKernel) {
  if (!test::long_run()) GTEST_SKIP() << "a minute and more: ./dev test --long";
  test::ScratchFolder folder;
  std::string out = folder.path("a new/folder");
  auto r = test::convscope_run({"demo", "--out", out, "--json"});
  ASSERT_EQ(r.code, 0) << r.err << r.out.substr(0, 2000);
  EXPECT_EQ(r.err, "");
  json j = r.document();
  EXPECT_EQ(j["unexpected"], 0);
  EXPECT_EQ(j["interrupted"], false);
  EXPECT_EQ(j["report"], out + "/report.html");
  // Five specimens and the ladder, each on the three small problems.
  std::map<std::string, std::map<std::string, std::string>> status;
  for (const auto& c : j["cases"]) {
    status[c["preset"]][c["kernel"]["name"]] = c["verdict"]["status"];
    EXPECT_EQ(c["expected"], c["verdict"]["status"]) << c["kernel"];
  }
  ASSERT_EQ(status.size(), 3u);
  for (const auto& [preset, kernels] : status) EXPECT_GE(kernels.size(), 9u) << preset;
  for (const char* s : {"S0", "S1", "S2", "S3", "S4"}) EXPECT_EQ(status["kernelbench-79-small"][s], "wrong") << s;
  for (const char* k : {"direct", "scatter", "polyphase", "tiled"})
    for (auto& [preset, kernels] : status) EXPECT_EQ(kernels[k], "right") << k << " " << preset;

  std::string html = text_file(out + "/report.html");
  expect_self_contained(html);
  EXPECT_EQ(count(html, "<details"), j["cases"].size());
  for (const auto& c : j["cases"])
    EXPECT_NE(html.find("<b>" + c["kernel"]["name"].get<std::string>() + "</b>"), std::string::npos);
  EXPECT_GT(count(html, "<svg"), j["cases"].size());

  // Six pictures a case, each whole, and each in the report.
  size_t pictures = 0, plain = 0;
  for (const auto& f : fs::directory_iterator(out)) {
    if (f.path().filename() == "report.html") continue;
    ASSERT_EQ(f.path().extension(), ".png");
    pictures++;
    size_t colours = 0;
    auto [width, height] = decoded(f.path(), &colours);
    EXPECT_GT(width, 50u) << f.path();
    EXPECT_GT(height, 50u) << f.path();
    plain += colours < 2;
  }
  EXPECT_EQ(pictures, 6 * j["cases"].size());
  EXPECT_EQ(count(html, "data:image/png;base64,"), pictures);
  // Only where there is no error at all may a picture have one colour.
  EXPECT_LE(plain, 2 * j["cases"].size());
}

TEST(Demo, TheDocumentOfAStoppedOneSaysSo) {
  test::ScratchFolder folder;
  test::Cli cli({"demo", "--out", folder.path("demo"), "--json"});
  ASSERT_TRUE(test::wait_until([&] { return fs::exists(folder.path("demo/S0-kernelbench-79-small-error-zoom.png")); },
                               30 * test::slowness));
  cli.signal(SIGINT);
  EXPECT_EQ(cli.finish().code, 130);
  EXPECT_EQ(cli.finish().document()["interrupted"], true);
}

TEST(Demo, KeepsWhatIsDoneWhenItIsStopped) {
  test::ScratchFolder folder;
  std::string out = folder.path("demo");
  test::Cli cli({"demo", "--out", out});
  // After the first case or two.
  ASSERT_TRUE(test::wait_until([&] { return fs::exists(out + "/S0-kernelbench-79-small-error-zoom.png"); },
                               30 * test::slowness));
  test::Stopwatch watch;
  cli.signal(SIGINT);
  const auto& r = cli.finish();
  EXPECT_LT(watch.seconds(), 3 * test::slowness);
  EXPECT_EQ(r.code, 130);
  std::string html = text_file(out + "/report.html");
  expect_self_contained(html);
  EXPECT_NE(html.find("<b>S0</b>"), std::string::npos);
  EXPECT_NE(r.out.find("✗ S0 "), std::string::npos) << r.out;
  for (const std::string& text : {r.out, html})
    EXPECT_NE(text.find(" s, then interrupted: what is missing was not run"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("Report with pictures: " + out + "/report.html"), std::string::npos) << r.out;
}

// A disk that is full, here after the first few hundred bytes of a file: said, and what is there stays whole.
TEST(Demo, OnAFullDisk) {
  test::ScratchFolder folder;
  fs::create_directory(folder.path("demo"));
  const std::string picture = folder.write("demo/S0-kernelbench-79-small-output.png", "of before", 9);
  auto r = test::convscope_shell("trap '' XFSZ; ulimit -f 1; convscope demo --out " + folder.path("demo"));
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "convscope: out " + picture + " cannot be written\n");
  EXPECT_EQ(text_file(picture), "of before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path("demo")), fs::directory_iterator()), 1);
}

// Stopped before anything is done.
TEST(Demo, StoppedAtOnce) {
  test::ScratchFolder folder;
  for (double delay : {0.03, 0.1}) {
    test::Cli cli({"demo", "--out", folder.path("demo"), "--json"});
    std::this_thread::sleep_for(std::chrono::duration<double>(delay));
    cli.signal(SIGINT);
    const auto& r = cli.finish();
    EXPECT_EQ(r.code, 130);
    if (!r.by_signal) r.document();
  }
}

TEST(Demo, WhenTheEngineIsNotThere) {
  test::ScratchFolder folder;
  auto r = test::convscope_run({"demo", "--out", folder.path("demo"), "--engine", "/no/such/engine", "--json"});
  EXPECT_EQ(r.code, 3);
  EXPECT_EQ(r.document()["error"]["code"], "missing");
}

}  // namespace
}  // namespace convscope
