// Tiles, failing places, numbers and tensors through the protocol: the same as asked of the result directly.
#include <cstring>
#include <gtest/gtest.h>

#include "app/engine/codec.h"
#include "kernels/reference/reference.h"
#include "kernels/runtime/registry.h"
#include "kernels/verify/judge.h"
#include "tests/app/engine/harness.h"

namespace convscope {
namespace {

using nlohmann::json;

class Tile : public testing::Test {
 protected:
  // S4 on a small problem: some phases wrong, others right; several rows.
  static RunSpec spec() {
    RunSpec s;
    s.kernel = &find_kernel("S4");
    s.problem = {.batch = 2,
                 .in_channels = 3,
                 .out_channels = 5,
                 .kernel_size = 3,
                 .length = 300,
                 .stride = 2,
                 .padding = 1,
                 .dilation = 2};
    s.problem.bias = true;
    s.inputs.seed = 9;
    s.references = false;
    s.pictures = true;
    return s;
  }

  static void SetUpTestSuite() {
    direct_ = new RunReport;
    auto device = open_emulator();
    std::vector<std::unique_ptr<Reference>> none;
    Judge judge(*device, none);
    Activity activity;
    *direct_ = judge.run(spec(), activity);
    pyramid_ = new Pyramid(*direct_->tensors, nullptr);
    client_ = new EngineClient({.command = test::test_engine()});
    key_ = test::result_of(*client_, request())["result"].get<std::string>();
  }
  static void TearDownTestSuite() {
    delete client_;
    delete pyramid_;
    delete direct_;
  }

  static json request() {
    RunSpec s = spec();
    RunRequest r;
    r.kernel = "S4", r.problem = s.problem, r.inputs = s.inputs, r.device = "emulator", r.references = false,
    r.pictures = true;
    std::vector<std::byte> none;
    json j = request_json(r, none);
    j["type"] = "run";
    return j;
  }

  static Answer ask(const std::string& type, json fields) {
    fields["type"] = type;
    if (!fields.contains("result")) fields["result"] = key_;
    return test::ask(*client_, fields);
  }
  static std::string rule_of(const Answer& a) {
    return a.kind == Answer::Kind::error
               ? json::parse(a.header).value("field", "") + " " + json::parse(a.header).value("rule", "")
               : test::describe(a);
  }

  static inline RunReport* direct_ = nullptr;
  static inline Pyramid* pyramid_ = nullptr;
  static inline EngineClient* client_ = nullptr;
  static inline std::string key_;
};

TEST_F(Tile, AreThoseOfThePyramid) {
  auto rows = static_cast<double>(direct_->tensors->rows), columns = static_cast<double>(direct_->tensors->columns);
  ASSERT_EQ(rows, 10);
  ASSERT_EQ(columns, 601);
  ASSERT_GT(direct_->error.failing, 0);
  struct Window {
    double row0, row1, column0, column1;
    int width, height;
  };
  const Window windows[] = {{0, rows, 0, columns, 601, 10},   {0, rows, 0, columns, 64, 4},
                            {0, rows, 0, columns, 1, 1},      {2, 5, 17, 300, 100, 3},
                            {1.5, 3.25, 10.5, 20.75, 80, 40}, {9, 10, 600, 601, 5, 5},
                            {0, rows, 0, columns, 1300, 33}};
  for (const auto& w : windows)
    for (int q = 0; q < 4; q++) {
      auto a = ask("tile", {{"quantity", quantity_names[q]},
                            {"window", {w.row0, w.row1, w.column0, w.column1}},
                            {"size", {w.width, w.height}}});
      ASSERT_EQ(a.kind, Answer::Kind::result) << test::describe(a);
      TileRequest t{static_cast<Quantity>(q), w.row0, w.row1, w.column0, w.column1, w.width, w.height};
      auto cells = pyramid_->tile(t);
      ASSERT_EQ(a.payload.size(), cells.size() * sizeof(Cell));
      EXPECT_EQ(std::memcmp(a.payload.data(), cells.data(), a.payload.size()), 0)
          << q << " " << w.width << "x" << w.height;
    }
  // The negative control: another quantity gives other cells.
  auto output = ask("tile", {{"quantity", "output"}, {"window", {0, 10, 0, 601}}, {"size", {64, 4}}});
  auto reference = ask("tile", {{"quantity", "reference"}, {"window", {0, 10, 0, 601}}, {"size", {64, 4}}});
  EXPECT_NE(output.payload, reference.payload);
}

TEST_F(Tile, FailingPlacesAreThoseOfThePyramid) {
  int64_t found = 0;
  Pyramid::Place at{0, -1};
  for (;;) {
    auto expected = pyramid_->next_failing(at, true);
    json got = test::result_of(ask("find", {{"from", {at.row, at.column}}, {"forward", true}}))["place"];
    if (!expected) {
      EXPECT_EQ(got, nullptr);
      break;
    }
    ASSERT_EQ(got, json({expected->row, expected->column}));
    at = *expected;
    if (++found == 300) break;
  }
  EXPECT_GT(found, 100);
  auto last = pyramid_->next_failing({9, 601}, false);
  ASSERT_TRUE(last);
  EXPECT_EQ(test::result_of(ask("find", {{"from", {9, 601}}, {"forward", false}}))["place"],
            json({last->row, last->column}));
}

TEST_F(Tile, NumbersAreTheElements) {
  const auto& t = *direct_->tensors;
  auto a = ask("numbers", {{"window", {3, 6, 100, 120}}});
  ASSERT_EQ(a.payload.size(), 3u * 20 * 4 * sizeof(double));
  std::vector<double> v(a.payload.size() / sizeof(double));
  std::memcpy(v.data(), a.payload.data(), a.payload.size());
  size_t i = 0;
  for (int64_t row = 3; row < 6; row++)
    for (int64_t column = 100; column < 120; column++) {
      int64_t e = row * t.columns + column;
      EXPECT_EQ(v[i++], t.output_at(e));
      EXPECT_EQ(v[i++], t.reference_at(e));
      EXPECT_EQ(v[i++], t.error_at(e));
      EXPECT_EQ(v[i++], t.ratio_at(e));
    }
}

TEST_F(Tile, TensorsInPieces) {
  auto whole = [&](const char* what, int64_t piece = 777) {
    std::vector<std::byte> all;
    json shape;
    for (int64_t at = 0;;) {
      auto a = ask("tensor", {{"what", what}, {"first", at}, {"count", piece}});
      json j = test::result_of(a);
      shape = j["shape"];
      all.insert(all.end(), a.payload.begin(), a.payload.end());
      if (j["count"] == 0 || a.kind != Answer::Kind::result) break;
      at += j["count"].get<int64_t>();
    }
    return std::pair{shape, all};
  };
  auto same = [](const std::vector<std::byte>& a, const HostTensor& t) {
    return a.size() == t.size_bytes() && std::memcmp(a.data(), t.data(), a.size()) == 0;
  };
  EXPECT_TRUE(same(whole("x").second, direct_->inputs->x));
  EXPECT_TRUE(same(whole("w", 7).second, direct_->inputs->w));
  EXPECT_TRUE(same(whole("b", 2).second, direct_->inputs->b));
  EXPECT_EQ(whole("w", 45).first, json({3, 5, 3}));
  auto [shape, y] = whole("y");
  EXPECT_EQ(shape, json({2, 5, 601}));
  ASSERT_EQ(y.size(), direct_->tensors->output.size());
  EXPECT_EQ(std::memcmp(y.data(), direct_->tensors->output.data(), y.size()), 0);
  // The oracle in one piece, in f64: what any piece of it says.
  auto oracle = make_cpu_oracle(direct_->spec.problem, *direct_->inputs);
  std::vector<double> expected(10 * 601);
  oracle->compute({0, 10, 0, 601}, expected.data(), nullptr);
  auto pieces = whole("oracle").second;
  ASSERT_EQ(pieces.size(), expected.size() * sizeof(double));
  EXPECT_EQ(std::memcmp(pieces.data(), expected.data(), pieces.size()), 0);
}

TEST_F(Tile, RefusalsNameTheRule) {
  json window = {0, 10, 0, 601}, size = {4, 4};
  auto tile = [&](json w, json s, const char* quantity = "output") {
    return rule_of(ask("tile", {{"quantity", quantity}, {"window", w}, {"size", s}}));
  };
  const std::string within = "window must lie within 0 to 10 rows and 0 to 601 columns";
  EXPECT_EQ(tile({0, 11, 0, 601}, size), within);
  EXPECT_EQ(tile({0, 10, 0, 601.5}, size), within);
  EXPECT_EQ(tile({-0.1, 10, 0, 601}, size), within);
  EXPECT_EQ(tile({5, 5, 0, 601}, size), within);
  EXPECT_EQ(tile({5, 4, 0, 601}, size), within);
  EXPECT_EQ(tile(window, {0, 4}), "size must be at least 1");
  EXPECT_EQ(tile(window, {4, 4097}), "size must be a whole number between 0 and 4096");
  EXPECT_EQ(tile(window, {4, 1.5}), "size must be a whole number between 0 and 4096");
  EXPECT_EQ(tile(window, {4}), "size must be a list of 2 numbers");
  EXPECT_EQ(tile(window, size, "colour"), "quantity must be output, reference, error or ratio");
  EXPECT_EQ(rule_of(ask("numbers", {{"window", {0, 10, 0, 602}}})), "window must be a whole number between 0 and 601");
  EXPECT_EQ(rule_of(ask("numbers", {{"window", {3, 3, 0, 1}}})), "window must hold 1 to 65536 elements");
  EXPECT_EQ(rule_of(ask("find", {{"from", {10, 0}}})), "from must be a whole number between 0 and 9");
  EXPECT_EQ(rule_of(ask("find", {{"from", {0, 0}}, {"forward", 1}})), "forward must be true or false");
  EXPECT_EQ(rule_of(ask("tensor", {{"what", "z"}})), "what must be x, w, b, y or oracle");
  EXPECT_EQ(rule_of(ask("tensor", {{"what", 5}})), "what must be text");
  EXPECT_EQ(rule_of(ask("tensor", {{"what", "x"}, {"first", "0"}})), "first must be a number");
  EXPECT_EQ(rule_of(ask("tensor", {{"what", "x"}, {"first", 1801}})),
            "first must be a whole number between 0 and 1800");
  EXPECT_EQ(rule_of(ask("tile",
                        {{"result", "0123456789abcdef"}, {"quantity", "output"}, {"window", window}, {"size", size}})),
            "result is not kept any more: run it again");
  EXPECT_EQ(rule_of(ask("tile", {{"result", 5}})), "result is not kept any more: run it again");
}

// The last test: it replaces what the others ask about.
TEST_F(Tile, ZTheNextRunTakesTheKeptResultsPlace) {
  json other = request();
  other["seed"] = 10;
  std::string next = test::result_of(*client_, other)["result"];
  ASSERT_NE(next, key_);
  json tile = {{"quantity", "output"}, {"window", {0, 1, 0, 1}}, {"size", {1, 1}}};
  EXPECT_EQ(rule_of(ask("tile", tile)), "result is not kept any more: run it again");
  tile["result"] = next;
  EXPECT_EQ(ask("tile", tile).kind, Answer::Kind::result);
  // Without pictures the numbers are kept, and no pyramid.
  other["pictures"] = false;
  EXPECT_EQ(test::result_of(*client_, other)["result"], next);
  EXPECT_EQ(rule_of(ask("tile", tile)), "result was made without pictures");
  EXPECT_EQ(ask("numbers", {{"result", next}, {"window", {0, 1, 0, 1}}}).kind, Answer::Kind::result);
  // A run that gives no output leaves nothing, but does take the place.
  json none = test::run_request("picky", {{"length", 8}});
  EXPECT_EQ(test::result_of(*client_, none)["result"], nullptr);
  EXPECT_EQ(rule_of(ask("numbers", {{"result", next}, {"window", {0, 1, 0, 1}}})),
            "result is not kept any more: run it again");
}

}  // namespace
}  // namespace convscope
