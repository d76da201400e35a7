// The key of a result changes with all that can change the result, and with nothing else.
#include <cstring>
#include <gtest/gtest.h>
#include <map>

#include "app/engine/service.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class Key : public testing::Test {
 protected:
  Key() {
    base_ = {{"type", "run"},
             {"kernel", "direct"},
             {"device", "emulator"},
             {"seed", 5},
             {"samples", 1},
             {"references", false},
             {"problem",
              {{"batch", 1},
               {"in_channels", 2},
               {"out_channels", 2},
               {"kernel_size", 2},
               {"length", 5},
               {"stride", 2},
               {"padding", 0},
               {"output_padding", 0},
               {"dilation", 1},
               {"groups", 1},
               {"bias", true},
               {"dtype", "f32"}}}};
  }
  std::string key(const json& request, const std::vector<float>& files = {}) {
    Activity activity;
    auto bytes = std::as_bytes(std::span(files));
    return json::parse(service_.handle(request, bytes, activity, {}).header).at("result").get<std::string>();
  }
  // The base with one field of the request or of its problem changed.
  std::string with(const std::string& field, const json& value) {
    json r = base_;
    (r["problem"].contains(field) ? r["problem"] : r)[field] = value;
    return key(r);
  }
  std::string with_file(const std::string& role, const std::vector<float>& values, const json& shape,
                        const std::string& name = "a.npy") {
    json r = base_;
    r["files"] = {{role, {{"name", name}, {"dtype", "f32"}, {"shape", shape}, {"offset", 0}}}};
    return key(r, values);
  }

  Service service_;
  json base_;
};

TEST_F(Key, IsTheSameForTheSameRequest) {
  std::string k = key(base_);
  EXPECT_EQ(k.size(), 16u);
  EXPECT_EQ(key(base_), k);
  EXPECT_EQ(Key::key(base_), k) << "also in an engine that has run nothing before";
  Service other;
  Activity activity;
  EXPECT_EQ(json::parse(other.handle(base_, {}, activity, {}).header)["result"], k);
}

TEST_F(Key, ChangesWithEachFieldThatCounts) {
  std::map<std::string, std::string> seen = {{key(base_), "base"}};
  const std::pair<const char*, json> fields[] = {
      {"kernel", "polyphase"}, {"seed", 6},     {"input", "signed"}, {"weight", "ones"},    {"bias_values", "ones"},
      {"accuracy", "tf32"},    {"batch", 2},    {"in_channels", 4},  {"out_channels", 4},   {"kernel_size", 3},
      {"length", 6},           {"stride", 3},   {"padding", 1},      {"output_padding", 1}, {"dilation", 2},
      {"groups", 2},           {"bias", false}, {"dtype", "f64"}};
  for (const auto& [field, value] : fields) {
    auto [it, fresh] = seen.emplace(with(field, value), field);
    EXPECT_TRUE(fresh) << field << " gives the key of " << it->second;
  }
  // Every parameter of a problem is among them.
  for (const auto& f : problem_fields())
    EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [&](const auto& s) { return s.second == f.name; })) << f.name;
}

TEST_F(Key, ChangesWithTheContentsOfFiles) {
  std::vector<float> x(10, 1), w(8, 2), b(2, 3);
  std::map<std::string, std::string> seen = {{key(base_), "none"}};
  auto fresh = [&](const std::string& k, const std::string& what) {
    auto [it, is_new] = seen.emplace(k, what);
    EXPECT_TRUE(is_new) << what << " gives the key of " << it->second;
  };
  fresh(with_file("input", x, {1, 2, 5}), "x");
  for (size_t i : {0, 4, 9}) {
    auto other = x;
    other[i] = std::nextafter(1.0f, 2.0f);
    fresh(with_file("input", other, {1, 2, 5}), "x with another number at " + std::to_string(i));
  }
  fresh(with_file("weight", w, {2, 2, 2}), "w");
  fresh(with_file("bias_values", b, {2}), "b");
  b[1] = -3;
  fresh(with_file("bias_values", b, {2}), "another b");
}

TEST_F(Key, StaysWithWhatChangesNoNumber) {
  std::string k = key(base_);
  EXPECT_EQ(with("samples", 2), k);
  EXPECT_EQ(with("references", true), k);
  EXPECT_EQ(with("pictures", true), k);
  EXPECT_EQ(with("tolerance", {1e-3, 1e-3}), k);
  EXPECT_EQ(with("tolerance", nullptr), k);
  EXPECT_EQ(with("id", 77), k);
  EXPECT_EQ(with("remark", "not of this protocol"), k);
  // What is said and what is meant anyway.
  EXPECT_EQ(with("input", "random"), k);
  EXPECT_EQ(with("weight", "default"), k);
  EXPECT_EQ(with("accuracy", "strict"), k);
  std::string why;
  if (cuda_devices(why).empty()) {
    EXPECT_EQ(with("device", "auto"), k);
  }
  std::vector<float> x(10, 1);
  EXPECT_EQ(with_file("input", x, {1, 2, 5}, "other/name.npy"), with_file("input", x, {1, 2, 5}));
}

// A verdict alone leaves what was run as it is, and is of the same mind.
TEST_F(Key, AVerdictAloneTouchesNoResult) {
  const std::string kept = key(base_);
  json other = base_;
  other["type"] = "judge", other["kernel"] = "S0", other["problem"]["padding"] = 1;
  Activity activity;
  const json verdict = json::parse(service_.handle(other, {}, activity, {}).header);
  EXPECT_EQ(verdict["verdict"]["status"], "wrong");
  EXPECT_TRUE(verdict["timing"]["median_ms"].is_null());
  EXPECT_EQ(verdict["timing"]["reason"], "not timed: only the verdict was asked for");
  EXPECT_FALSE(verdict.contains("result"));
  for (const auto& r : verdict["references"]) EXPECT_TRUE(r["median_ms"].is_null()) << r;
  const json tensor = {{"type", "tensor"}, {"result", kept}, {"what", "y"}, {"first", 0}, {"count", 1}};
  EXPECT_EQ(json::parse(service_.handle(tensor, {}, activity, {}).header)["count"], 1) << "is still there";
  other["problem"]["padding"] = 100;
  EXPECT_THROW(service_.handle(other, {}, activity, {}), InputError);
}

}  // namespace
}  // namespace convscope
