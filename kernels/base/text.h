// Words and numbers for people.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convscope {

// The candidate nearest to `word` by edit distance, in which two neighbours exchanged are one edit (optimal string
// alignment), or "" if none is near (more than a third of the letters differ).
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

std::string file_name(const std::string& path);  // what stands after the last slash
std::string grouped(int64_t n);                  // 1,234,567
std::string bytes_text(uint64_t bytes);          // 4.00 GiB
std::string time_text(double milliseconds);      // three significant digits with a unit: 12.3 µs
std::string number_text(double v);               // up to six significant digits; NaN and Infinity spelled out
std::string noise_text(double percent);          // two digits, all of them from 10 on: "0.016 %", "1.2 %", "120 %"
std::string ratio_text(double v);  // of an error to its bound: "over a million times" where digits mean nothing
std::string csv_field(std::string_view text);         // in quotation marks where it needs them (RFC 4180)
std::string lowered(std::string_view text);           // in small letters, of ASCII's
std::string today();                                  // 2026-11-20, in UTC
uint64_t hash_of(std::string_view text);              // FNV-1a, 64 bits (Fowler, Noll, Vo): the same in every build
std::string percent_text(double part, double whole);  // never rounds to 0 % or 100 % what is not exactly that

}  // namespace convscope
