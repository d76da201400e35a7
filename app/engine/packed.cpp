#include "app/engine/packed.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <zlib.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace convscope {
using nlohmann::json;
namespace {

constexpr int gzip_form = 15 + 16;  // deflateInit2's window bits for gzip

// Counts before anything is built: a value takes some fifty bytes in memory and may take two in the file.
class Measure : public json::json_sax_t {
 public:
  enum class Trouble { none, depth, values } trouble = Trouble::none;
  bool null() override { return one(); }
  bool boolean(bool) override { return one(); }
  bool number_integer(number_integer_t) override { return one(); }
  bool number_unsigned(number_unsigned_t) override { return one(); }
  bool number_float(number_float_t, const string_t&) override { return one(); }
  bool string(string_t&) override { return one(); }
  bool binary(binary_t&) override { return one(); }
  bool key(string_t&) override { return true; }
  bool start_object(size_t) override { return deeper(); }
  bool start_array(size_t) override { return deeper(); }
  bool end_object() override { return depth_--, true; }
  bool end_array() override { return depth_--, true; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool one() {
    if (++values_ <= most_json_values) return true;
    trouble = Trouble::values;
    return false;
  }
  bool deeper() {
    if (++depth_ <= most_json_depth) return one();
    trouble = Trouble::depth;
    return false;
  }
  uint64_t values_ = 0;
  int depth_ = 0;
};

// Takes memory as the text comes, never by what a header promises.
std::string unpacked(const std::string& field, const std::string& path, const std::string& bytes) {
  z_stream z{};
  if (inflateInit2(&z, gzip_form) != Z_OK) throw std::runtime_error("zlib cannot start");
  struct End {
    z_stream& z;
    ~End() { inflateEnd(&z); }
  } end{z};
  std::string text, part(size_t{256} << 10, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());  // at most most_packed_bytes
  int state = Z_OK;
  while (state == Z_OK) {
    z.next_out = reinterpret_cast<Bytef*>(part.data());
    z.avail_out = static_cast<uInt>(part.size());
    state = inflate(&z, Z_NO_FLUSH);
    text.append(part.data(), part.size() - z.avail_out);
    if (text.size() > most_unpacked_bytes)
      throw InputError(field, path, "unpacks to more than " + bytes_text(most_unpacked_bytes));
    if (state == Z_OK && z.avail_in == 0 && z.avail_out > 0) state = Z_BUF_ERROR;  // it ends in the middle
  }
  if (state != Z_STREAM_END || z.avail_in != 0) throw InputError(field, path, "is packed and damaged");
  return text;
}

}  // namespace

std::string packed(const std::string& text) {
  z_stream z{};
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_form, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib cannot start");
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  int state = deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  deflateEnd(&z);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib cannot pack");
  return out;
}

json json_of_file(const std::string& field, const std::string& path, const std::string& bytes) {
  if (bytes.size() > most_packed_bytes)
    throw InputError(field, path, "is larger than " + bytes_text(most_packed_bytes));
  const bool is_packed = bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
  const std::string inside = is_packed ? unpacked(field, path, bytes) : "";
  const std::string& text = is_packed ? inside : bytes;
  Measure measure;
  bool whole = json::sax_parse(text, &measure);
  if (measure.trouble == Measure::Trouble::depth) throw InputError(field, path, "is nested too deep");
  if (measure.trouble == Measure::Trouble::values)
    throw InputError(field, path, "holds more than " + grouped(static_cast<int64_t>(most_json_values)) + " values");
  return whole ? json::parse(text, nullptr, false) : json(json::value_t::discarded);
}

json read_json_file(const std::string& field, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(field, path, "cannot be opened");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(field, path, "cannot be opened");
  // One byte beyond the limit tells that there is more; a pipe has no size to ask for.
  std::string bytes;
  std::string part(size_t{256} << 10, '\0');
  while (in && bytes.size() <= most_packed_bytes) {
    in.read(part.data(), static_cast<std::streamsize>(part.size()));
    bytes.append(part.data(), static_cast<size_t>(in.gcount()));
  }
  return json_of_file(field, path, bytes);
}

}  // namespace convscope
