// What is kept between starts, and what becomes of it when something goes wrong.
#include "app/model/settings.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/app/model/sessions.h"

namespace convscope {
namespace {
namespace fs = std::filesystem;

using test::text_of;

class SettingsFile : public testing::Test {
 protected:
  std::string write(const std::string& text) { return folder_.write("settings.json", text.data(), text.size()); }
  Settings load(std::string& note) { return load_settings(folder_.path("settings.json"), note); }
  size_t files() {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path("")), fs::directory_iterator()));
  }

  test::ScratchFolder folder_;
};

Settings unusual() {
  Settings s;
  s.theme = Settings::Theme::light;
  s.scale = 1.25;
  s.presenter = true;
  s.live = false;
  s.value_colours = "cividis";
  s.recent = {"/a/b.convscope", "relative name.npy", "\"quotes\" and ünï"};
  s.layout = "[Window][Maps]\nPos=1,2\n";
  return s;
}

TEST_F(SettingsFile, ComesBackAsItWas) {
  std::string note;
  for (const Settings& s : {Settings{}, unusual()}) {
    ASSERT_TRUE(save_settings(folder_.path("settings.json"), s));
    EXPECT_EQ(load(note), s);
    EXPECT_EQ(note, "");
    EXPECT_EQ(files(), 1u) << "nothing is left beside it";
  }
}

TEST_F(SettingsFile, NoneIsTheDefault) {
  std::string note;
  EXPECT_EQ(load(note), Settings{});
  EXPECT_EQ(note, "");
}

TEST_F(SettingsFile, ACorruptOneIsTheDefaultAndSaysSo) {
  for (const char* text :
       {"", "{", "[]", "null", "7", "\xff\xfe", "{\"version\": 1,", "not json at all", "{}", R"({"theme": "light"})",
        R"({"version": "1"})", R"({"version": null})", R"({"version": -1})", R"({"version": 1.5, "theme": "light"})"}) {
    std::string note;
    write(text);
    EXPECT_EQ(load(note), Settings{}) << text;
    EXPECT_NE(note.find("cannot be read as settings"), std::string::npos) << text;
    // It is replaced by a good one when there is something to keep.
    EXPECT_TRUE(save_settings(folder_.path("settings.json"), unusual()));
    EXPECT_EQ(load(note), unusual());
  }
}

TEST_F(SettingsFile, FieldsOfTheWrongTypeAreTheDefault) {
  std::string note;
  write(
      R"({"version": 1, "theme": 3, "scale": "large", "presenter": "yes", "live": 0, "value_colours": "jet", "recent": [1, "a", null], "layout": {}})");
  Settings expected;
  expected.recent = {"a"};
  EXPECT_EQ(load(note), expected);
  write(R"({"version": 1, "scale": 1e300, "recent": ["0","1","2","3","4","5","6","7","8","9","10","11"]})");
  EXPECT_EQ(load(note).scale, 2);
  EXPECT_EQ(load(note).recent.size(), 10u);
  write(R"({"version": 1, "scale": -3})");
  EXPECT_EQ(load(note).scale, 0.75);
}

TEST_F(SettingsFile, ALaterVersionIsLeftAlone) {
  for (const std::string text :
       {R"({"version": 2, "theme": "light", "more": true})", R"({"version": 18446744073709551615})"}) {
    std::string file = write(text), note;
    Settings s = unusual();
    EXPECT_EQ(read_settings(file, s), KeptSettings::later);
    EXPECT_EQ(s, Settings{});
    EXPECT_EQ(load(note), Settings{});
    EXPECT_NE(note.find("later version"), std::string::npos);
    EXPECT_FALSE(save_settings(file, unusual()));
    EXPECT_EQ(text_of(file), text);
  }
}

TEST_F(SettingsFile, TheNewestFirstAndTenAtMost) {
  Settings s;
  for (int i = 0; i < 14; i++) s.remember("file" + std::to_string(i));
  s.remember("file9");
  EXPECT_EQ(s.recent.size(), 10u);
  EXPECT_EQ(s.recent[0], "file9");
  EXPECT_EQ(s.recent[1], "file13");
  EXPECT_EQ(std::count(s.recent.begin(), s.recent.end(), "file9"), 1);
}

// File names are bytes; JSON is UTF-8. One odd name must not keep all the rest from being saved.
TEST_F(SettingsFile, AFileNameThatIsNoText) {
  Settings s = unusual();
  s.recent.push_back("/tmp/\xff\xfe.npy");
  EXPECT_TRUE(save_settings(folder_.path("settings.json"), s));
  std::string note;
  Settings back = load(note);
  EXPECT_EQ(back.theme, s.theme);
  EXPECT_EQ(back.recent[0], s.recent[0]);
}

// ---- folders --------------------------------------------------------------------------------------------------------

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* was = std::getenv(name)) was_ = was, had_ = true;
    set(value);
  }
  ~Environment() { set(had_ ? was_.c_str() : nullptr); }
  void set(const char* value) { value ? setenv(name_, value, 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string was_;
  bool had_ = false;
};

TEST_F(SettingsFile, Folder) {
  Environment xdg("XDG_CONFIG_HOME", folder_.path("deep/config").c_str()), home("HOME", folder_.path("home").c_str());
  EXPECT_EQ(settings_folder(), folder_.path("deep/config/convscope"));
  EXPECT_TRUE(fs::is_directory(folder_.path("deep/config/convscope")));
  EXPECT_EQ(settings_folder(), folder_.path("deep/config/convscope"));
  xdg.set(nullptr);
  EXPECT_EQ(settings_folder(), folder_.path("home/.config/convscope"));
  xdg.set("");
  EXPECT_EQ(settings_folder(), folder_.path("home/.config/convscope"));
  home.set(nullptr);
  EXPECT_EQ(settings_folder(), "");
}

TEST_F(SettingsFile, AFolderThatCannotBe) {
  Environment xdg("XDG_CONFIG_HOME", "/proc/nothing/here");
  EXPECT_EQ(settings_folder(), "");
  folder_.write("file", "x", 1);
  xdg.set(folder_.path("file").c_str());
  EXPECT_EQ(settings_folder(), "");
  EXPECT_FALSE(save_settings("/proc/nothing/here/settings.json", {}));
  EXPECT_FALSE(save_settings(folder_.path("file/settings.json"), {}));
  EXPECT_FALSE(save_settings(folder_.path("not/there/settings.json"), {}));
}

// A folder that one may read and not write. Root may write everywhere: then this is one who is not root.
TEST_F(SettingsFile, AFolderThatMayNotBeWritten) {
  std::string file = write("old");
  chmod(folder_.path("").c_str(), 0555);
  chmod(file.c_str(), 0644);
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(save_settings(file, {}) ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  chmod(folder_.path("").c_str(), 0755);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(file), "old");
  EXPECT_EQ(files(), 1u);
}

// Killed at any moment: the file holds one of the texts that were written, whole.
TEST_F(SettingsFile, KilledWhileSaving) {
  std::string file = folder_.path("settings.json");
  ASSERT_TRUE(save_settings(file, {}));
  for (int i = 0; i < 40; i++) {
    pid_t child = fork();
    if (child == 0) {
      Settings s;
      for (int n = 0;; n++) {
        s.layout = std::string(static_cast<size_t>(n % 50) * 1000, static_cast<char>('a' + n % 26));
        if (!save_settings(file, s)) _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200 + 777 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    std::string note;
    Settings s = load(note);
    ASSERT_EQ(note, "");
    ASSERT_EQ(s.layout.size() % 1000, 0u);
    if (!s.layout.empty()) {
      ASSERT_EQ(s.layout.find_first_not_of(s.layout[0]), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace convscope
