// Which element an expression names: the coordinates that an index is made of, read off its text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace convscope::edits {

// Of `(n * Cout + co) * Lout + j`: j of Lout, and co of Cout. extent: "" where the text does not tell it.
struct Coordinate {
  std::string text, extent;
};
// Of a thread, which is the first of its block, or of its warp, where it is below 1.
inline constexpr const char *first_of_block = "threadIdx.x", *first_of_warp = "threadIdx.x % 32";
// index: without comments, and without the brackets around it. Each once; what calls or has an index of its own is
// none.
bool is_of_thread(const Coordinate& c);
std::vector<Coordinate> coordinates_of(std::string_view index);

// `a * of + b` in a sum, each a place in its text. Exchanged it is `b * another + a`.
struct Pairing {
  size_t begin, end;  // of both
  std::string a, of, b;
};
std::vector<Pairing> pairings_in(std::string_view sum);

// The indices of a text that has several: what stands in its [], and what is added to a pointer in __ldg().
std::vector<std::string> indices_in(std::string_view code);

}  // namespace convscope::edits
