// JSON files as they lie on disk: plain text, or the same text packed by gzip (RFC 1952), so that `zcat` shows it.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace convscope {

inline constexpr uint64_t most_packed_bytes = uint64_t{64} << 20;     // of a file
inline constexpr uint64_t most_unpacked_bytes = uint64_t{256} << 20;  // of its text
inline constexpr uint64_t most_json_values = uint64_t{8} << 20;       // numbers, words, lists and objects in it
inline constexpr int most_json_depth = 64;                            // code that walks it recurses

// Errors: std::runtime_error (no memory).
std::string packed(const std::string& text);

// The document in a file of either form. Sizes are checked before anything of that size is allocated: a file that
// unpacks to more, has more values or nests deeper than above is refused. Text that is no JSON gives a discarded value.
// Errors: InputError(`field`, path, …).
nlohmann::json read_json_file(const std::string& field, const std::string& path);
// The same for bytes that are there already.
nlohmann::json json_of_file(const std::string& field, const std::string& path, const std::string& bytes);

}  // namespace convscope
