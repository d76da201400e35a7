// Requests damaged in every way: a reply, or one of the errors that are documented; no crash, no hang, no hoarding.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <thread>

#include "app/engine/service.h"
#include "kernels/verify/judge.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;
using Random = std::mt19937_64;

constexpr double fuzz_seconds = 4;

// As long as that, and on a busy machine until enough was seen.
bool more(const test::Stopwatch& watch, double seconds, bool enough) {
  return watch.seconds() < seconds || (!enough && watch.seconds() < 30 * test::slowness);
}

// Cancels what takes long, so that a request for a million samples is no hang.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void guard(Activity* activity) {
    std::lock_guard lock(mutex_);
    activity_ = activity;
    since_ = {};
    changed_.notify_all();
  }

  std::atomic<double> patience_s = 0.15;

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      if (activity_ && since_.seconds() > patience_s) activity_->cancel();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  Activity* activity_ = nullptr;
  test::Stopwatch since_;
  bool stop_ = false;
  std::thread thread_;
};

json nasty(Random& random) {
  static const std::vector<json> pool = {nullptr,
                                         true,
                                         false,
                                         0,
                                         1,
                                         -1,
                                         2,
                                         3,
                                         5,
                                         0.5,
                                         -0.0,
                                         1e308,
                                         -1e308,
                                         1e-320,
                                         64,
                                         4096,
                                         4097,
                                         65536,
                                         65537,
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min(),
                                         std::numeric_limits<uint64_t>::max(),
                                         (int64_t{1} << 31) - 1,
                                         int64_t{1} << 31,
                                         int64_t{1} << 36,
                                         int64_t{1} << 53,
                                         "",
                                         "x",
                                         "direct",
                                         "emulator",
                                         "f64",
                                         "f16",
                                         "random",
                                         "file.npy",
                                         "output",
                                         "oracle",
                                         "y",
                                         "tf32",
                                         "\xc3\xa9",
                                         std::string(3000, 'a'),
                                         json::array(),
                                         json::object(),
                                         json::array({1}),
                                         json::array({0, 0, 0}),
                                         json::array({0, 1, 0, 1}),
                                         json::array({-1, 1, 0, 1}),
                                         json::array({0.5, 1, 0, 1e300}),
                                         json::array({json::array({json::array()})}),
                                         json::object({{"a", 1}})};
  return pool[random() % pool.size()];
}

// All places in a request: (parent, key or index).
void collect(json& j, std::vector<json*>& places) {
  for (auto& child : j) {
    places.push_back(&child);
    if (child.is_structured()) collect(child, places);
  }
}

void damage(json& request, Random& random) {
  for (uint64_t n = 1 + random() % 3; n > 0; n--) {
    std::vector<json*> places;
    collect(request, places);
    if (places.empty()) return;
    json& chosen = *places[random() % places.size()];
    switch (random() % 5) {
      case 0:
      case 1:
        chosen = nasty(random);
        break;
      case 2:
        if (chosen.is_number_integer())
          chosen = static_cast<int64_t>(chosen.get<uint64_t>() + random() % 5 - 2);  // may wrap
        else
          chosen = nasty(random);
        break;
      case 3:
        if (chosen.is_array())
          chosen.push_back(nasty(random));
        else if (chosen.is_object())
          chosen["dtype"] = nasty(random);
        break;
      case 4: {
        auto it = request.begin();
        std::advance(it, static_cast<long>(random() % request.size()));
        request.erase(it);
        if (request.empty()) return;
        break;
      }
    }
  }
}

// A problem that this machine could run, but not in a moment, is left out; one that no machine can is not.
bool would_take_long(const json& request) {
  try {
    ConvProblem p = problem_from(request.value("problem", json::object()));
    if (check(p)) return false;
    RunSpec spec;
    spec.problem = p;
    spec.pictures = true;
    auto host = Judge::predict(spec, true).host;
    return host > (uint64_t{192} << 20) && host < available_host_memory() * 2;
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<json> seeds(const std::string& key) {
  json problem = {{"batch", 2},    {"in_channels", 2}, {"out_channels", 4}, {"kernel_size", 3},
                  {"length", 9},   {"stride", 2},      {"padding", 1},      {"output_padding", 1},
                  {"dilation", 2}, {"groups", 2},      {"bias", true},      {"dtype", "f32"}};
  json files = {{"input", {{"name", "x.npy"}, {"dtype", "f32"}, {"shape", {2, 2, 9}}, {"offset", 0}}},
                {"bias_values", {{"name", "b.npy"}, {"dtype", "f32"}, {"shape", {4}}, {"offset", 144}}}};
  return {
      {{"type", "run"},
       {"kernel", "direct"},
       {"problem", problem},
       {"device", "emulator"},
       {"seed", 3},
       {"input", "signed"},
       {"weight", "integers"},
       {"bias_values", "ramp"},
       {"accuracy", "tf32"},
       {"tolerance", {1e-3, 1e-4}},
       {"samples", 2},
       {"references", true},
       {"pictures", true},
       {"files", json::object()}},
      {{"type", "run"},
       {"kernel", "tiled"},
       {"problem", problem},
       {"device", "auto"},
       {"files", files},
       {"samples", 1},
       {"references", false},
       {"pictures", true}},
      {{"type", "profile"},
       {"kernel", "tiled"},
       {"problem", problem},
       {"device", "emulator"},
       {"set", "full"},
       {"samples", 2}},
      {{"type", "draw"}, {"kernel", "tiled"}, {"problem", problem}, {"device", "emulator"}},
      {{"type", "samples"}, {"kernel", "tiled"}, {"problem", problem}, {"device", "emulator"}},
      {{"type", "live"}, {"kernel", "polyphase"}, {"problem", problem}, {"device", "emulator"}},
      {{"type", "bench"},
       {"kernels", {"direct", "tiled"}},
       {"against", "direct"},
       {"with_packing", true},
       {"problem", problem},
       {"device", "emulator"},
       {"samples", 2}},
      {{"type", "explain"}, {"kernel", "scatter"}, {"problem", problem}, {"device", "emulator"}, {"at", {1, 3, 7}}},
      {{"type", "tile"}, {"result", key}, {"quantity", "ratio"}, {"window", {0.0, 8.0, 0.0, 18.0}}, {"size", {7, 5}}},
      {{"type", "tile"},
       {"result", key},
       {"quantity", "output"},
       {"window", {1.25, 1.5, 17.0, 18.0}},
       {"size", {40, 30}}},
      {{"type", "find"}, {"result", key}, {"from", {0, -1}}, {"forward", true}},
      {{"type", "find"}, {"result", key}, {"from", {7, 18}}, {"forward", false}},
      {{"type", "numbers"}, {"result", key}, {"window", {0, 3, 2, 18}}},
      {{"type", "tensor"}, {"result", key}, {"what", "x"}, {"first", 3}, {"count", 20}},
      {{"type", "tensor"}, {"result", key}, {"what", "oracle"}, {"first", 5}, {"count", 50}},
      {{"type", "statistics"}, {"result", key}},
      {{"type", "trace"}, {"kernel", "polyphase"}, {"problem", problem}, {"device", "emulator"}, {"at", {0, 2, 5}}},
      {{"type", "source"}, {"kernel", "direct"}},
      {{"type", "list"}, {"what", "kernels"}, {"device", "emulator"}},
      {{"type", "list"}, {"what", "presets"}},
      {{"type", "info"}},
  };
}

class ServiceFuzz : public testing::Test {
 protected:
  ServiceFuzz() : payload_(160) {
    std::vector<float> values(40, 0.25f);
    std::memcpy(payload_.data(), values.data(), payload_.size());
  }

  // The key of a run that is kept.
  std::string keep() {
    json request = seeds("")[0];
    Activity activity;
    return json::parse(service_.handle(request, {}, activity, {}).header).value("result", "");
  }

  // What came: "reply", or the code of a documented error; "" and a test failure for anything else.
  std::string send(const json& request, std::span<const std::byte> payload) {
    Activity activity;
    watchdog_.guard(&activity);
    test::Stopwatch watch;
    std::string came;
    try {
      auto reply = service_.handle(request, payload, activity,
                                   [](const std::string& early) { EXPECT_TRUE(json::accept(early)); });
      EXPECT_TRUE(json::parse(reply.header).is_object());
      EXPECT_LE(reply.payload.size(), size_t{256} << 20);
      came = "reply";
    } catch (const InputError& e) {
      came = "bad-input";
      EXPECT_FALSE(e.field().empty() || e.rule().empty());
      EXPECT_LT(std::strlen(e.what()), 5000u);
    } catch (const MissingError&) {
      came = "missing";
    } catch (const KernelFault&) {
      came = "crashed";
    } catch (const Cancelled&) {
      came = "cancelled";
    } catch (const std::exception& e) {
      ADD_FAILURE() << "undocumented: " << e.what() << " for " << header_text(request);
    }
    watchdog_.guard(nullptr);
    EXPECT_LT(watch.seconds(), watchdog_.patience_s + 5 * test::slowness) << header_text(request);
    return came;
  }

  Service service_;
  std::vector<std::byte> payload_;
  Watchdog watchdog_;
};

TEST_F(ServiceFuzz, TheSeedsAreAnswered) {
  std::string key = keep();
  ASSERT_FALSE(key.empty());
  watchdog_.patience_s = 20 * test::slowness;
  for (const auto& request : seeds(key)) {
    EXPECT_EQ(send(request, payload_), "reply") << request.dump();
    if (request["type"] == "run") key = keep();
  }
}

TEST_F(ServiceFuzz, WithPackingIsTrueOrFalse) {
  watchdog_.patience_s = 20 * test::slowness;
  for (json request : seeds(keep()))
    if (request["type"] == "bench")
      for (const json& value : {json(true), json(false), json("yes"), json(1), json(nullptr)}) {
        request["with_packing"] = value;
        EXPECT_EQ(send(request, {}), value.is_boolean() ? "reply" : "bad-input") << value;
      }
}

TEST_F(ServiceFuzz, DamagedRequests) {
  Random random(42);
  std::map<std::string, int> seen;
  std::string key = keep();
  int n = 0;
  for (test::Stopwatch watch; more(watch, fuzz_seconds, seen["reply"] > 20 && seen["bad-input"] > 20) && !HasFailure();
       n++) {
    auto all = seeds(key);
    json request = all[random() % all.size()];
    damage(request, random);
    // A specimen reads where its wrong index points, which may end this process.
    std::string kernel = request.contains("kernel") && request["kernel"].is_string() ? request["kernel"] : "";
    if (kernel.starts_with("S") || would_take_long(request)) continue;
    auto payload = payload_;
    if (random() % 4 == 0) payload.resize(random() % 200);
    for (auto& b : payload)
      if (random() % 50 == 0) b = static_cast<std::byte>(random());
    seen[send(request, payload)]++;
    auto type = request.find("type");
    if (type == request.end() || *type == "run") key = keep();  // a run has taken its place
  }
  EXPECT_GT(seen["reply"], 20) << n;
  EXPECT_GT(seen["bad-input"], 20) << n;
  watchdog_.patience_s = 20 * test::slowness;
  EXPECT_EQ(send(seeds(keep())[0], payload_), "reply") << "and it still works";
}

TEST_F(ServiceFuzz, LightRequestsOnAnyWindow) {
  Random random(43);
  std::string key = keep();
  auto number = [&]() -> double {
    switch (random() % 6) {
      case 0:
        return static_cast<double>(random() % 20);
      case 1:
        return static_cast<double>(random() % 20000) / 1000;
      case 2:
        return 18 - 1e-9 * static_cast<double>(random() % 100);
      case 3:
        return 8 - 1e-13 * static_cast<double>(random() % 100);
      case 4:
        return 1e-300;
      default:
        return static_cast<double>(random() % 19) + 1e-15;
    }
  };
  const char* quantities[] = {"output", "reference", "error", "ratio"};
  int replies = 0;
  for (test::Stopwatch watch; more(watch, fuzz_seconds / 4, replies > 200) && !HasFailure();) {
    json request;
    double a = number(), b = number(), c = number(), d = number();
    auto [row0, row1] = std::minmax(a, b);
    auto [column0, column1] = std::minmax(c, d);
    auto whole = [](double v) { return static_cast<int64_t>(v); };
    switch (random() % 3) {
      case 0:
        request = {{"type", "tile"},
                   {"result", key},
                   {"quantity", quantities[random() % 4]},
                   {"window", {row0, row1, column0, column1}},
                   {"size", {1 + random() % 90, 1 + random() % 90}}};
        break;
      case 1:
        request = {
            {"type", "find"}, {"result", key}, {"from", {whole(a) - 1, whole(c) - 1}}, {"forward", random() % 2 == 0}};
        break;
      case 2:
        request = {{"type", "numbers"},
                   {"result", key},
                   {"window", {whole(row0), whole(row1), whole(column0), whole(column1)}}};
        break;
    }
    replies += send(request, {}) == "reply";
  }
  EXPECT_GT(replies, 200);
}

// As they come from the stream: text that may be no JSON, and JSON that may be no request.
TEST_F(ServiceFuzz, DamagedText) {
  Random random(44);
  std::string key = keep();
  int parsed = 0;
  for (test::Stopwatch watch; more(watch, fuzz_seconds / 4, parsed > 100) && !HasFailure();) {
    auto all = seeds(key);
    std::string text = header_text(all[random() % all.size()]);
    for (uint64_t n = 1 + random() % 3; n > 0; n--) text[random() % text.size()] = "0123456789,:\"-.eE "[random() % 18];
    try {
      json request = parse_header(text);
      parsed++;
      std::string kernel = request.contains("kernel") && request["kernel"].is_string() ? request["kernel"] : "";
      if (kernel.starts_with("S") || would_take_long(request)) continue;
      send(request, payload_);
      if (request.value("type", json()) == "run") key = keep();
    } catch (const FrameError&) {
    }
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace convscope
