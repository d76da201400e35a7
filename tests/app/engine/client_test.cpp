// The client with a healthy engine: order, cancelling, newest wins, many at once, and its own end.
#include "app/engine/client.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <thread>

#include "app/engine/frame.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class Client : public testing::Test {
 protected:
  // Takes `blocks` × `ms`, divided by the four workers, for each of its eight or so runs.
  static json slow(int blocks, int ms) { return test::run_request("slow", {{"length", blocks}, {"dilation", ms}}); }
  static std::string code_of(const Answer& a) {
    return a.kind == Answer::Kind::error ? json::parse(a.header).value("code", "") : test::describe(a);
  }
  // Until the kernel of the request posted with these handlers runs.
  struct Begun {
    std::shared_ptr<std::atomic<bool>> running = std::make_shared<std::atomic<bool>>(false);
    Handlers with(Handlers h) const {
      h.progress = [flag = running](const Progress& p) {
        if (p.phase.starts_with("running")) *flag = true;
      };
      return h;
    }
    bool wait() const {
      return test::wait_until([&] { return running->load(); });
    }
  };

  test::NothingLeft nothing_left_;
};

TEST_F(Client, StartsAnEngineWhenItIsNeededAndKeepsIt) {
  EngineClient client({.command = test::test_engine()});
  EXPECT_EQ(client.starts(), 0);
  EXPECT_EQ(client.pid(), 0);
  for (int i = 0; i < 5; i++) test::expect_works(client);
  EXPECT_EQ(client.starts(), 1);
  EXPECT_TRUE(test::exists(client.pid()));
}

TEST_F(Client, SaysWhatTheEngineRefuses) {
  EngineClient client({.command = test::test_engine()});
  auto refused = [&](json request) {
    auto a = test::ask(client, request);
    EXPECT_EQ(a.kind, Answer::Kind::error) << test::describe(a);
    json e = json::parse(a.header);
    EXPECT_EQ(e["code"], "bad-input");
    EXPECT_EQ(e["exit_code"], 2);
    return e["field"].get<std::string>() + "|" + e["value"].get<std::string>() + "|" + e["rule"].get<std::string>();
  };
  EXPECT_EQ(refused(test::run_request("heathy")), "kernel|heathy|is not known; did you mean healthy?");
  EXPECT_EQ(refused(test::run_request("healthy", {{"stride", 0}})), "stride|0|must be at least 1");
  EXPECT_EQ(refused(test::run_request("healthy", {{"stride", "2"}})), "stride|2|has the wrong type");
  EXPECT_EQ(refused(test::run_request("healthy", {{"stride", json::array({1})}})), "stride|[…]|has the wrong type");
  EXPECT_EQ(refused(test::run_request("healthy", {{"stride", ~uint64_t{0}}})),
            "stride|18446744073709551615|is too large");
  EXPECT_EQ(refused(test::explain_request("healthy", {}, {0, 0, 64})), "j|64|must be a whole number between 0 and 63");
  EXPECT_EQ(refused(test::explain_request("healthy", {}, {0, 0})), "at||must be a list of 3 numbers");
  json with = test::run_request("healthy");
  with["tolerance"] = "tight";
  EXPECT_EQ(refused(with), "tolerance|tight|must be a list of two numbers, or null");
  with = test::run_request("healthy");
  with["device"] = "abacus";
  EXPECT_EQ(refused(with), "device|abacus|must be auto, emulator, cuda or cuda:N");
  EXPECT_EQ(client.starts(), 1);
}

TEST_F(Client, PartialComesFirstAndHasNoVerdict) {
  EngineClient client({.command = test::test_engine()});
  Handlers handlers;
  std::vector<json> early;
  handlers.partial = [&](const std::string& header) { early.push_back(json::parse(header)); };
  auto a = client.request(test::run_request("few_wrong").dump(), {}, std::move(handlers));
  ASSERT_EQ(early.size(), 1u);
  EXPECT_EQ(early[0]["verdict"]["status"], nullptr);
  EXPECT_EQ(early[0]["result"], nullptr) << "nothing is kept yet that could be asked about";
  EXPECT_EQ(early[0]["error"]["failing"], 2);
  EXPECT_EQ(test::result_of(a)["verdict"]["status"], "wrong");
}

// With pictures there is something to look at before the verdict.
TEST_F(Client, PicturesCanBeLookedAtBeforeTheVerdict) {
  EngineClient client({.command = test::test_engine()});
  test::Collector tile;
  Handlers handlers;
  handlers.partial = [&](const std::string& header) {
    json ask = {{"type", "tile"}, {"result", json::parse(header)["result"]}, {"quantity", "output"}};
    ask["window"] = {0, 1, 0, 64}, ask["size"] = {64, 1};
    client.post(ask.dump(), {}, tile.handlers());
  };
  json request = slow(64, 5);
  request["pictures"] = true;
  auto a = client.request(request.dump(), {}, std::move(handlers));
  ASSERT_TRUE(tile.wait(1));
  EXPECT_EQ(tile.answers()[0].kind, Answer::Kind::result) << test::describe(tile.answers()[0]);
  EXPECT_EQ(tile.answers()[0].payload.size(), 64u * 16);
  EXPECT_EQ(test::result_of(a)["verdict"]["status"], "right");
}

TEST_F(Client, CancelsWhatRuns) {
  EngineClient client({.command = test::test_engine()});
  test::Collector all;
  Begun begun;
  auto id = client.post(slow(4000, 10).dump(), {}, begun.with(all.handlers()));
  ASSERT_TRUE(begun.wait());
  test::Stopwatch watch;
  client.cancel(id);
  client.cancel(id);  // twice does no harm
  ASSERT_TRUE(all.wait(1));
  EXPECT_LT(watch.seconds(), 1 * test::slowness);
  EXPECT_EQ(code_of(all.answers()[0]), "cancelled");
  client.cancel(id);
  client.cancel(id + 100);
  test::expect_works(client);
  EXPECT_EQ(client.starts(), 1) << "the engine survives it";
  EXPECT_EQ(all.count(), 1u);
}

TEST_F(Client, CancelsWhatWaitsWithoutTouchingWhatRuns) {
  EngineClient client({.command = test::test_engine(), .cancel_grace_s = 0.3});
  test::Collector running, waiting;
  Begun begun;
  client.post(slow(80, 10).dump(), {}, begun.with(running.handlers()));
  auto id = client.post(slow(80, 10).dump(), {}, waiting.handlers());
  ASSERT_TRUE(begun.wait());
  client.cancel(id);
  ASSERT_TRUE(waiting.wait(1, 1 * test::slowness));
  EXPECT_EQ(code_of(waiting.answers()[0]), "cancelled");
  EXPECT_EQ(running.count(), 0u);
  ASSERT_TRUE(running.wait(1, 60 * test::slowness));
  test::result_of(running.answers()[0]);
  EXPECT_EQ(client.starts(), 1);
}

// A block that does not end cannot look at a cancel: it ends with its engine.
TEST_F(Client, CancelsWhatCannotBeStopped) {
  EngineClient client({.command = test::test_engine(), .cancel_grace_s = 0.3});
  test::Collector all, after;
  Begun begun;
  auto id = client.post(test::run_request("loop_for_ever").dump(), {}, begun.with(all.handlers()));
  client.post(test::run_request("healthy").dump(), {}, after.handlers());
  ASSERT_TRUE(begun.wait());
  test::Stopwatch watch;
  client.cancel(id);
  ASSERT_TRUE(all.wait(1));
  EXPECT_LT(watch.seconds(), 2 * test::slowness);
  EXPECT_EQ(code_of(all.answers()[0]), "cancelled");
  // What waited behind it is none the worse.
  ASSERT_TRUE(after.wait(1));
  EXPECT_EQ(test::result_of(after.answers()[0])["verdict"]["status"], "right");
  EXPECT_EQ(client.starts(), 2);
}

TEST_F(Client, PollCancels) {
  EngineClient client({.command = test::test_engine()});
  test::Stopwatch watch;
  int calls = 0;
  auto a = client.request(slow(4000, 10).dump(), {}, {}, 0, [&] { return ++calls < 4; });
  EXPECT_EQ(code_of(a), "cancelled");
  EXPECT_EQ(calls, 4);
  EXPECT_LT(watch.seconds(), 3 * test::slowness);
}

TEST_F(Client, NewestWins) {
  EngineClient client({.command = test::test_engine()});
  test::expect_works(client);
  struct Got {
    int number;
    Answer answer;
  };
  std::mutex mutex;
  std::vector<Got> got;
  constexpr int burst = 50;
  for (int i = 0; i < burst; i++) {
    Handlers h;
    h.done = [&, i](Answer a) {
      std::lock_guard lock(mutex);
      got.push_back({i, std::move(a)});
    };
    client.post_latest("slider", slow(40 + i, 5).dump(), {}, std::move(h));
  }
  ASSERT_TRUE(test::wait_until(
      [&] {
        std::lock_guard lock(mutex);
        return got.size() == burst;
      },
      30 * test::slowness));
  std::map<int, int> answers;
  int results = 0;
  for (const auto& g : got) {
    answers[g.number]++;
    if (g.answer.kind == Answer::Kind::result) {
      results++;
      EXPECT_EQ(json::parse(g.answer.header)["problem"]["length"], 40 + g.number) << "its own answer";
    } else {
      EXPECT_EQ(code_of(g.answer), "cancelled");
    }
    if (g.number == burst - 1) {
      EXPECT_EQ(g.answer.kind, Answer::Kind::result);
    }
  }
  for (auto [number, times] : answers) EXPECT_EQ(times, 1) << number;
  EXPECT_EQ(results, 1) << "each takes at least a tenth of a second: none could be quicker than the burst";
  EXPECT_EQ(client.starts(), 1);
}

TEST_F(Client, ChannelsAreIndependent) {
  EngineClient client({.command = test::test_engine()});
  test::Collector a, b, plain;
  client.post(slow(40, 2).dump(), {}, plain.handlers());
  client.post_latest("a", slow(41, 2).dump(), {}, a.handlers());
  client.post_latest("b", slow(42, 2).dump(), {}, b.handlers());
  ASSERT_TRUE(a.wait(1) && b.wait(1) && plain.wait(1));
  for (auto* c : {&a, &b, &plain}) test::result_of(c->answers()[0]);
}

TEST_F(Client, ManyThreadsAtOnce) {
  EngineClient client({.command = test::test_engine()});
  constexpr int threads = 8, each = 12;
  std::atomic<int> right{0}, cancelled{0}, others{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; t++)
    pool.emplace_back([&, t] {
      for (int i = 0; i < each; i++) {
        int length = 20 + t * each + i;
        if (i % 6 == 5) {
          auto id = client.post(slow(length, 3).dump(), {}, {});
          client.cancel(id);
        }
        if (i % 4 == 3) {
          auto a = test::ask(client, {{"type", "list"}, {"what", "presets"}});
          right += json::parse(a.header).contains("presets");
        } else if (i % 4 == 2) {
          auto a = test::ask(client, {{"type", "find"}, {"result", "none"}, {"from", {0, 0}}});
          right += code_of(a) == "bad-input";
        } else {
          auto a = test::ask(client, test::run_request("healthy", {{"length", length}}));
          json j = json::parse(a.header);
          right += j["problem"]["length"] == length && j["verdict"]["status"] == "right";
        }
      }
    });
  for (auto& t : pool) t.join();
  EXPECT_EQ(right, threads * each);
  EXPECT_EQ(client.starts(), 1);
}

TEST_F(Client, LightRequestsAreAnsweredBesideARun) {
  EngineClient client({.command = test::test_engine()});
  json request = test::run_request("few_wrong", {{"length", 200}});
  request["pictures"] = true;
  std::string key = test::result_of(client, request)["result"];
  test::Collector run;
  // A run takes the kept result's place when it begins; before that, tiles are there while others compute.
  json explain = test::explain_request("slow", {{"length", 60}, {"dilation", 10}}, {0, 0, 5});
  client.post(explain.dump(), {}, run.handlers());
  test::Stopwatch watch;
  int answered = 0;
  while (run.count() == 0 && answered < 200) {
    auto tile = test::ask(
        client,
        {{"type", "tile"}, {"result", key}, {"quantity", "output"}, {"window", {0, 1, 0, 200}}, {"size", {20, 1}}});
    EXPECT_EQ(tile.kind, Answer::Kind::result) << test::describe(tile);
    EXPECT_EQ(tile.payload.size(), 20u * 16);
    auto find = test::result_of(client, {{"type", "find"}, {"result", key}, {"from", {0, -1}}, {"forward", true}});
    EXPECT_EQ(find["place"], json({0, 13}));
    auto numbers = test::ask(client, {{"type", "numbers"}, {"result", key}, {"window", {0, 1, 10, 20}}});
    EXPECT_EQ(numbers.payload.size(), 10u * 32);
    answered++;
  }
  EXPECT_GT(answered, 5) << "in " << watch.seconds() << " s";
  ASSERT_TRUE(run.wait(1, 60 * test::slowness));
  test::result_of(run.answers()[0]);
}

TEST_F(Client, TheKeptResultGoesWhenTheNextRunBegins) {
  EngineClient client({.command = test::test_engine()});
  json request = test::run_request("healthy");
  request["pictures"] = true;
  std::string key = test::result_of(client, request)["result"];
  test::Collector run;
  Begun begun;
  auto id = client.post(slow(400, 10).dump(), {}, begun.with(run.handlers()));
  ASSERT_TRUE(begun.wait());
  auto a = test::ask(client, {{"type", "numbers"}, {"result", key}, {"window", {0, 1, 0, 1}}});
  EXPECT_EQ(code_of(a), "bad-input");
  EXPECT_EQ(json::parse(a.header)["rule"], "is not kept any more: run it again");
  client.cancel(id);
  ASSERT_TRUE(run.wait(1));
}

TEST_F(Client, EndsWithRequestsUnderWay) {
  test::Collector all;
  pid_t pid = 0;
  test::Stopwatch watch;
  {
    EngineClient client({.command = test::test_engine()});
    Begun begun;
    client.post(test::run_request("all_loop_for_ever").dump(), {}, begun.with(all.handlers()));
    for (int i = 0; i < 20; i++) client.post(slow(100 + i, 10).dump(), {}, all.handlers());
    ASSERT_TRUE(begun.wait());
    for (int i = 0; i < 20; i++) client.post(slow(200 + i, 10).dump(), {}, all.handlers());
    pid = client.pid();
    watch = {};
  }
  EXPECT_LT(watch.seconds(), 2 * test::slowness);
  EXPECT_EQ(all.count(), 41u) << "each is answered, once, before the client is gone";
  for (const auto& a : all.answers()) EXPECT_EQ(code_of(a), "cancelled");
  EXPECT_FALSE(test::exists(pid));
}

TEST_F(Client, EndsAtAnyMoment) {
  for (int i = 0; i < 20; i++) {
    test::Collector all;
    {
      EngineClient client({.command = test::test_engine()});
      if (i % 4 != 3) client.post(test::run_request("healthy").dump(), {}, all.handlers());
      std::this_thread::sleep_for(std::chrono::microseconds(i * i * 150));
    }
    EXPECT_EQ(all.count(), i % 4 == 3 ? 0u : 1u);
  }
}

TEST_F(Client, HandlersMayPost) {
  EngineClient client({.command = test::test_engine()});
  test::Collector all;
  Handlers first;
  first.done = [&](Answer) { client.post(test::run_request("healthy").dump(), {}, all.handlers()); };
  client.post(test::run_request("healthy").dump(), {}, std::move(first));
  ASSERT_TRUE(all.wait(1));
  test::result_of(all.answers()[0]);
}

TEST_F(Client, FilesTravelAsBytes) {
  EngineClient client({.command = test::test_engine()});
  constexpr int n = 3'000'000;  // more than any pipe holds
  std::vector<float> values(n);
  for (int i = 0; i < n; i++) values[static_cast<size_t>(i)] = static_cast<float>(i % 1000) - 500;
  auto bytes = std::as_bytes(std::span(values));
  json request = test::run_request("healthy", {{"length", n}});
  request["weight"] = "ones";
  request["files"] = {{"input", {{"name", "x.npy"}, {"dtype", "f32"}, {"shape", {1, 1, n}}, {"offset", 0}}}};
  auto a = test::ask(client, request, {bytes.begin(), bytes.end()});
  json r = test::result_of(a);
  ASSERT_EQ(r["verdict"]["status"], "right") << r["verdict"].dump();
  auto y = test::ask(client, {{"type", "tensor"}, {"result", r["result"]}, {"what", "y"}});
  ASSERT_EQ(y.payload.size(), bytes.size());
  EXPECT_EQ(std::memcmp(y.payload.data(), values.data(), bytes.size()), 0);
  // Fewer bytes than the header says.
  a = test::ask(client, request, {bytes.begin(), bytes.end() - 1});
  EXPECT_EQ(json::parse(a.header)["rule"], "is longer than the bytes that came with it");
}

// More than the engine is ready to take: it closes, which is said, and the next one works.
TEST_F(Client, AHeaderTooLargeForTheEngine) {
  EngineClient client({.command = test::test_engine()});
  json request = test::run_request("healthy");
  request["remark"] = std::string(most_header_bytes / 2 - 1000, 'x');
  EXPECT_EQ(test::result_of(client, request)["verdict"]["status"], "right") << "a long one is no trouble";
  // Half of 16 MiB, and each control character becomes six when it is written out again.
  request["remark"] = std::string(most_header_bytes / 2 / 6 - 1000, '\1') + std::string(1000, 'x');
  EXPECT_EQ(test::result_of(client, request)["verdict"]["status"], "right");
}

TEST_F(Client, TwoClientsDoNotMix) {
  EngineClient a({.command = test::test_engine()}), b({.command = test::test_engine()});
  test::expect_works(a);
  test::expect_works(b);
  EXPECT_NE(a.pid(), b.pid());
  kill(a.pid(), SIGKILL);
  test::expect_works(b);
  EXPECT_EQ(b.starts(), 1);
}

}  // namespace
}  // namespace convscope
