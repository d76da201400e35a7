// An engine that greets and frames as it should, and answers with values of the wrong types. usage: odd_engine MODE
// [SEED]
//   null|numbers|text|lists|objects: every field that an answer may have is of this kind
//   random: of any
#include <nlohmann/json.hpp>
#include <random>
#include <unistd.h>

#include "app/engine/frame.h"

using namespace convscope;
using nlohmann::json;

namespace {

std::mt19937 generator;

void write_all(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    ssize_t n = write(STDOUT_FILENO, bytes.data() + at, bytes.size() - at);
    if (n <= 0) _exit(1);
    at += static_cast<size_t>(n);
  }
}

void send(const json& header) {
  std::string text = header_text(header);
  write_all(frame_prefix(text.size(), 0) + text);
}

json odd(const std::string& mode) {
  static const char* modes[] = {"null", "numbers", "text", "lists", "objects"};
  std::string kind = mode == "random" ? modes[generator() % 5] : mode;
  if (kind == "null") return nullptr;
  if (kind == "numbers") return std::vector<json>{-1, 0.5, 1e300, 18446744073709551615u}[generator() % 4];
  if (kind == "text") return std::vector<json>{"", "x", "NaN", "right"}[generator() % 4];
  if (kind == "lists")
    return std::vector<json>{json::array(), {1, "x", nullptr}, {{{"name", 3}}}, {"a", "b", "c"}}[generator() % 4];
  return std::vector<json>{json::object(),
                           {{"name", 7}, {"status", json::array()}, {"first_failing", {{"n", "x"}}}}}[generator() % 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "random";
  generator.seed(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0);
  const char* fields[] = {
      "result",        "kernel",    "problem",  "verdict",          "error",   "references", "timing",
      "launches",      "phases",    "ranges",   "device",           "kernels", "place",      "text",
      "file",          "at",        "reason",   "writers",          "reads",   "writes",     "through_shared",
      "reads_unknown", "elements",  "zero",     "not_finite",       "ratio",   "gate",       "joint",
      "explanation",   "code",      "message",  "exit_code",        "field",   "value",      "rule",
      "ratio_bins",    "gate_bins", "accuracy", "kernel_out_length"};
  write_all(hello_marker);
  send({{"type", "hello"}, {"protocol", protocol_version}, {"pid", static_cast<int>(getpid())}});
  FrameParser parser;
  std::vector<std::byte> buffer(1 << 16);
  for (ssize_t n; (n = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0;) {
    parser.feed({buffer.data(), static_cast<size_t>(n)});
    while (auto f = parser.next()) {
      json request = parse_header(f->header), answer = json::object();
      for (const char* field : fields)
        if (generator() % 4) answer[field] = odd(mode);
      answer["id"] = request["id"];
      if (request.value("type", "") == "run" && generator() % 2) {
        answer["type"] = "partial";
        send(answer);
      }
      answer["type"] = generator() % 4 ? "result" : "error";
      // Often a result that can be asked about.
      if (generator() % 2) answer["result"] = "0123456789abcdef";
      send(answer);
    }
  }
}
