// The request `beside`: another's output on the kept result's inputs, and the difference of the two.
#include <cstring>
#include <gtest/gtest.h>

#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

const json small_problem = {{"in_channels", 3}, {"out_channels", 4}, {"kernel_size", 3}, {"length", 50},
                            {"stride", 2},      {"padding", 1},      {"dilation", 2}};

json picture_request(const std::string& kernel, const json& problem = small_problem) {
  json r = test::run_request(kernel, problem);
  r["pictures"] = true;
  return r;
}
json beside_request(const std::string& kernel, const std::string& result, const json& problem = small_problem) {
  json r = test::run_request(kernel, problem);
  r["type"] = "beside", r["result"] = result;
  return r;
}
std::vector<double> numbers_from(EngineClient& client, const std::string& key, int64_t rows, int64_t columns) {
  const Answer a = test::ask(client, {{"type", "numbers"}, {"result", key}, {"window", {0, rows, 0, columns}}});
  EXPECT_EQ(a.kind, Answer::Kind::result) << test::describe(a);
  std::vector<double> v(a.payload.size() / 8);
  std::memcpy(v.data(), a.payload.data(), a.payload.size());
  return v;
}
std::string rule(const Answer& a) {
  return a.kind == Answer::Kind::error
             ? json::parse(a.header).value("field", "") + ": " + json::parse(a.header).value("rule", "")
             : test::describe(a);
}

TEST(EngineBeside, NumbersAreThoseOfBoth) {
  EngineClient client({.command = test::test_engine()});
  const std::string one = test::result_of(client, picture_request("S4"))["result"];
  const json d = test::result_of(client, beside_request("direct", one));
  EXPECT_EQ(d["with"], "direct");
  const std::string other = d["output"], apart = d["result"];
  const int64_t rows = 4, columns = (50 - 1) * 2 - 2 + 2 * 2 + 1;
  const auto mine = numbers_from(client, one, rows, columns), theirs = numbers_from(client, other, rows, columns),
             both = numbers_from(client, apart, rows, columns);
  ASSERT_EQ(mine.size(), static_cast<size_t>(rows * columns * 4));
  ASSERT_EQ(both.size(), mine.size());
  int64_t identical = 0, beyond = 0;
  for (size_t e = 0; e < mine.size(); e += 4) {
    ASSERT_EQ(both[e], mine[e]);
    ASSERT_EQ(both[e + 1], theirs[e]) << "the other's output, not the oracle's";
    ASSERT_EQ(both[e + 2], static_cast<double>(static_cast<float>(mine[e] - theirs[e])));
    identical += mine[e] == theirs[e], beyond += !(both[e + 3] <= 1);
  }
  EXPECT_EQ(d["elements"], rows * columns);
  EXPECT_EQ(d["identical"], identical);
  EXPECT_EQ(d["beyond"], beyond);
  EXPECT_GT(beyond, 0);
  EXPECT_TRUE(d["where"].get<std::string>().find("every even output") != std::string::npos) << d["where"];
  // Places are found in the difference, tiles asked of it; both the kernel's own are still there.
  const json place =
      test::result_of(client, {{"type", "find"}, {"result", apart}, {"from", {0, -1}}, {"forward", true}})["place"];
  EXPECT_EQ(place, json({d["first"][1], d["first"][2]})) << "a batch of one";
  for (const std::string& key : {one, other, apart})
    EXPECT_EQ(test::ask(client, {{"type", "tile"},
                                 {"result", key},
                                 {"quantity", "error"},
                                 {"window", {0, rows, 0, columns}},
                                 {"size", {8, 4}}})
                  .payload.size(),
              8 * 4 * 16u);
}

TEST(EngineBeside, TheNextRunTakesTheDifferenceAndLeavesTheOther) {
  EngineClient client({.command = test::test_engine()});
  const std::string one = test::result_of(client, picture_request("S4"))["result"];
  const json d = test::result_of(client, beside_request("direct", one));
  const std::string next = test::result_of(client, picture_request("S1"))["result"];
  auto ask_numbers = [&](const std::string& key) {
    return test::ask(client, {{"type", "numbers"}, {"result", key}, {"window", {0, 1, 0, 1}}});
  };
  EXPECT_EQ(rule(ask_numbers(d["result"])), "result: is not kept any more: run it again");
  EXPECT_EQ(ask_numbers(d["output"]).kind, Answer::Kind::result) << "what the next result stands beside";
  EXPECT_EQ(rule(test::ask(client, beside_request("direct", one))), "result: is not kept any more: run it again");
  const json again = test::result_of(client, beside_request("direct", next));
  EXPECT_EQ(again["output"], d["output"]);
  EXPECT_NE(again["result"], d["result"]);
}

TEST(EngineBeside, WhatCannotStandThereSaysWhy) {
  EngineClient client({.command = test::test_engine()});
  const std::string one = test::result_of(client, picture_request("direct"))["result"];
  json larger = small_problem;
  larger["length"] = 51;
  EXPECT_EQ(rule(test::ask(client, beside_request("S4", one, larger))), "result: is of another problem");
  json other_inputs = beside_request("S4", one);
  other_inputs["seed"] = 77;
  EXPECT_EQ(rule(test::ask(client, other_inputs)), "result: is of other inputs");
  EXPECT_EQ(rule(test::ask(client, beside_request("nobody", one))).substr(0, 7), "kernel:");
  const json refused = test::result_of(client, beside_request("hopper_16bit", one));
  EXPECT_EQ(refused["result"], nullptr);
  EXPECT_TRUE(refused["reason"].get<std::string>().starts_with("not run: hopper_16bit ")) << refused;
  const json crashed = test::result_of(client, beside_request("throw_words", one));
  EXPECT_EQ(crashed["result"], nullptr);
  EXPECT_TRUE(crashed["reason"].get<std::string>().starts_with("crashed: ")) << crashed;
  json plain = picture_request("direct");
  plain["pictures"] = false;
  const std::string bare = test::result_of(client, plain)["result"];
  EXPECT_EQ(rule(test::ask(client, beside_request("S4", bare))), "result: was made without pictures");
  test::expect_works(client);
}

TEST(EngineBeside, AReferenceCanStandThere) {
  EngineClient client({.command = test::test_engine()});
  const std::string one = test::result_of(client, picture_request("S4"))["result"];
  const Answer a = test::ask(client, beside_request("onednn", one));
  if (a.kind == Answer::Kind::error) GTEST_SKIP() << rule(a);
  const json d = test::result_of(a), direct = test::result_of(client, beside_request("direct", one));
  EXPECT_GT(d["beyond"], 0);
  EXPECT_EQ(d["beyond"], direct["beyond"]) << "both are right, and S4 is wrong at the same places";
}

}  // namespace
}  // namespace convscope
