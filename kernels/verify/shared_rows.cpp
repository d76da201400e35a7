#include "kernels/verify/shared_rows.h"

#include <fmt/format.h>

namespace convscope {

SharedRows rows_of(const std::vector<int64_t>& elements) {
  struct Run {
    int64_t begin, length;
  };
  std::vector<Run> runs;
  for (int64_t e : elements)
    if (!runs.empty() && e == runs.back().begin + runs.back().length)
      runs.back().length++;
    else
      runs.push_back({e, 1});
  if (runs.empty()) return {};
  if (runs.size() == 1) return {runs[0].length, 0};
  // Two pieces have a distance, which says nothing of rows unless they are as long.
  if (runs.size() == 2 && runs[1].length != runs[0].length) return {};
  const int64_t pitch = runs[1].begin - runs[0].begin;
  for (size_t i = 1; i < runs.size(); i++) {
    const bool last = i + 1 == runs.size();  // may end before
    if (runs[i].begin - runs[i - 1].begin != pitch || runs[i].length > runs[0].length ||
        (runs[i].length < runs[0].length && !last))
      return {};
  }
  return {runs[0].length, pitch};
}

namespace {
// As against bank conflicts: a few elements behind each row. What is further apart is something else.
bool padded(const SharedRows& rows) {
  constexpr int64_t most = 8;
  const int64_t gap = rows.pitch - rows.length;
  return gap > 0 && gap <= most && gap < rows.length;
}
}  // namespace

std::string rows_that_differ(const SharedRows& written, const SharedRows& read, const std::string& at) {
  if (!written.length || !read.length || written.pitch == read.pitch) return "";
  for (const SharedRows* rows : {&written, &read})
    if (rows->pitch && !padded(*rows)) return "";
  // A piece that is no longer than a row may be one.
  if (!written.pitch && written.length <= read.length) return "";
  if (!read.pitch && read.length <= written.length) return "";
  auto every = [](const SharedRows& rows) {
    return fmt::format("rows of {} that begin every {} elements", rows.length, rows.pitch);
  };
  if (!written.pitch) return fmt::format("what is written{} lies in one piece, and is read in {}", at, every(read));
  if (!read.pitch) return fmt::format("what is written{} lies in {}, and is read as one piece", at, every(written));
  return fmt::format("what is written{} lies in {}, and is read in {}", at, every(written), every(read));
}

}  // namespace convscope
