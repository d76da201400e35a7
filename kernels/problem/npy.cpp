#include "kernels/problem/npy.h"

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <memory>
#include <optional>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/problem/conv_problem.h"

namespace convscope {
namespace {

using Bytes = std::span<const std::byte>;

struct Refuse {
  const std::string& field;
  const std::string& name;
  [[noreturn]] void operator()(std::string_view rule) const { throw InputError(field, name, std::string(rule)); }
};

uint64_t little(Bytes b, size_t at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= static_cast<uint64_t>(b[at + i]) << 8 * i;
  return v;
}

// ---- the header: a Python dict literal with three known keys -------------------------------------------------------

struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const Refuse& refuse) : text_(text), refuse_(refuse) {}

  Header parse() {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') refuse_("holds a structured type: only f2, f4 and f8 are read");
        header_.descr = string(), descr = true;
      } else if (key == "fortran_order") {
        header_.fortran = boolean(), order = true;
      } else if (key == "shape") {
        tuple(), shape = true;
      } else {
        refuse_("has an unknown key in its header");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) refuse_("lacks descr, fortran_order or shape in its header");
    return header_;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) at_++;
  }
  char peek() {
    blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse_("has a header that is not a NumPy header");
  }
  std::string string() {
    char quote = peek();
    if (quote != '\'' && quote != '"') refuse_("has a header that is not a NumPy header");
    size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) refuse_("has a header that ends inside a string");
    std::string s(text_.substr(at_, end - at_));
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    peek();
    for (auto [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    refuse_("has a fortran_order that is neither True nor False");
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t v = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
      if (error != std::errc{} || v < 0) refuse_("has a shape that is not a tuple of sizes");
      at_ = static_cast<size_t>(end - text_.data());
      header_.shape.push_back(v);
      if (header_.shape.size() > 8) refuse_("has more than 8 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const Refuse& refuse_;
  size_t at_ = 0;
  Header header_;
};

// The element that begins at p.
template <class T>
T element(const std::byte* p, bool big) {
  constexpr int size = sizeof(T);
  uint64_t bits = 0;
  for (int i = 0; i < size; i++) bits |= static_cast<uint64_t>(p[big ? size - 1 - i : i]) << 8 * i;
  return std::bit_cast<T>(static_cast<BitsOf<T>>(bits));
}

HostTensor read_data(Bytes data, const Header& h, const Refuse& refuse) {
  bool known = h.descr.size() == 3 && (h.descr[0] == '<' || h.descr[0] == '>' || h.descr[0] == '=') &&
               h.descr[1] == 'f' && (h.descr[2] == '2' || h.descr[2] == '4' || h.descr[2] == '8');
  if (!known) refuse("holds type '" + h.descr.substr(0, 32) + "': only f2, f4 and f8 are read");
  int size = h.descr[2] - '0';
  bool big = h.descr[0] == '>';
  __int128 count = 1;
  for (int64_t n : h.shape) {
    count *= n;
    if (count > max_elements) refuse(fmt::format("has more than {} elements", max_elements));
  }
  auto elements = static_cast<int64_t>(count);
  if (static_cast<__int128>(data.size()) < count * size)
    refuse(fmt::format("is truncated: shape [{}] of {} needs {} bytes of data, the file has {}",
                       fmt::join(h.shape, ", "), h.descr, elements * size, data.size()));
  return make_tensor(size == 8   ? DType::f64
                     : size == 4 ? DType::f32
                                 : DType::f16,
                     h.shape, [&](auto* out, int64_t) {
                       using T = std::remove_pointer_t<decltype(out)>;
                       if (!h.fortran && !big) {
                         if (elements) std::memcpy(out, data.data(), static_cast<size_t>(elements) * sizeof(T));
                         return;
                       }
                       if (elements == 0) return;
                       // Walk the output in C order; `from` is the flat index in the file.
                       size_t rank = h.shape.size();
                       std::vector<int64_t> step(rank, 1), index(rank, 0);
                       if (h.fortran)
                         for (size_t d = 1; d < rank; d++) step[d] = step[d - 1] * h.shape[d - 1];
                       else
                         for (size_t d = rank; d-- > 1;) step[d - 1] = step[d] * h.shape[d];
                       int64_t from = 0;
                       for (int64_t e = 0; e < elements; e++) {
                         out[e] = element<T>(data.data() + from * size, big);
                         for (size_t d = rank; d-- > 0;) {
                           from += step[d];
                           if (++index[d] < h.shape[d]) break;
                           from -= step[d] * h.shape[d];
                           index[d] = 0;
                         }
                       }
                     });
}

// ---- zip: just enough for what numpy.savez and numpy.savez_compressed write -----------------------------------------

struct ZipEntry {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, header_at = 0;
};

std::vector<ZipEntry> zip_directory(Bytes file, const Refuse& refuse) {
  if (file.size() < 22) refuse("is truncated: no zip directory");
  size_t end = std::string::npos, lowest = file.size() < 22 + 65535 ? 0 : file.size() - 22 - 65535;
  for (size_t at = file.size() - 22 + 1; at-- > lowest;)
    if (little(file, at, 4) == 0x06054b50) {
      end = at;
      break;
    }
  if (end == std::string::npos) refuse("is not a zip archive, or is truncated");
  uint64_t count = little(file, end + 10, 2), at = little(file, end + 16, 4);
  std::vector<ZipEntry> entries;
  for (uint64_t i = 0; i < count; i++) {
    if (at > file.size() || file.size() - at < 46 || little(file, at, 4) != 0x02014b50)
      refuse("has a damaged zip directory");
    ZipEntry e;
    e.method = static_cast<uint16_t>(little(file, at + 10, 2));
    e.crc = static_cast<uint32_t>(little(file, at + 16, 4));
    e.packed = little(file, at + 20, 4);
    e.size = little(file, at + 24, 4);
    e.header_at = little(file, at + 42, 4);
    uint64_t name = little(file, at + 28, 2), extra = little(file, at + 30, 2), comment = little(file, at + 32, 2);
    if (file.size() - at - 46 < name + extra) refuse("has a damaged zip directory");
    e.name.assign(reinterpret_cast<const char*>(file.data()) + at + 46, name);
    // Zip64: sizes that do not fit stand in extra field 1, in this order, each only if its 32-bit place is all ones.
    for (uint64_t x = at + 46 + name, stop = x + extra; stop - x >= 4;) {
      uint64_t id = little(file, x, 2), length = little(file, x + 2, 2);
      if (stop - x - 4 < length) break;
      if (id == 1) {
        uint64_t p = x + 4, left = length;
        for (uint64_t* v : {&e.size, &e.packed, &e.header_at})
          if (*v == 0xffffffff && left >= 8) {
            *v = little(file, p, 8);
            p += 8, left -= 8;
          }
      }
      x += 4 + length;
    }
    entries.push_back(std::move(e));
    at += 46 + name + extra + comment;
  }
  return entries;
}

// The archive's checksum of an entry's plain bytes, so that a damaged number is never taken for the one that was saved.
void check_entry(Bytes plain, const ZipEntry& e, const Refuse& refuse) {
  if (plain.size() != e.size || crc32_z(0, reinterpret_cast<const Bytef*>(plain.data()), plain.size()) != e.crc)
    refuse("has a damaged or truncated entry");
}

HostBytes inflate_entry(Bytes packed, uint64_t size, const Refuse& refuse) {
  // A deflate stream cannot grow by more than 1032 to 1, so a lying size is refused before it is allocated.
  if (size / 1032 > packed.size() + 1) refuse("has an entry whose size is impossible");
  HostBytes out(size);
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) refuse("cannot be unpacked");
  size_t in_at = 0, out_at = 0;
  int state = Z_OK;
  while (state == Z_OK && (in_at < packed.size() || out_at < out.size())) {
    auto in_now = static_cast<uInt>(std::min<size_t>(packed.size() - in_at, 1u << 30));
    auto out_now = static_cast<uInt>(std::min<size_t>(out.size() - out_at, 1u << 30));
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in_at));
    z.avail_in = in_now;
    z.next_out = reinterpret_cast<Bytef*>(out.data() + out_at);
    z.avail_out = out_now;
    state = inflate(&z, Z_NO_FLUSH);
    in_at += in_now - z.avail_in;
    out_at += out_now - z.avail_out;
    if (state == Z_OK && in_now == z.avail_in && out_now == z.avail_out) break;
  }
  inflateEnd(&z);
  if (state != Z_STREAM_END || out_at != out.size()) refuse("has a damaged or truncated entry");
  return out;
}

}  // namespace

HostTensor read_npy(Bytes file, const std::string& field, const std::string& name) {
  Refuse refuse{field, name};
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0) refuse("is not a .npy file");
  auto version = static_cast<int>(file[6]);
  if (version < 1 || version > 3) refuse(fmt::format("is .npy version {}: 1 to 3 are read", version));
  size_t start = version == 1 ? 10 : 12;
  if (file.size() < start) refuse("is truncated inside its header");
  uint64_t length = little(file, 8, version == 1 ? 2 : 4);
  if (length > file.size() - start) refuse("is truncated inside its header");
  if (length > 1 << 20) refuse("has a header of more than 1 MiB");
  std::string_view text(reinterpret_cast<const char*>(file.data()) + start, length);
  return read_data(file.subspan(start + length), HeaderParser(text, refuse).parse(), refuse);
}

HostTensor read_npz(Bytes file, std::string_view wanted, const std::string& field, const std::string& name) {
  Refuse refuse{field, name};
  auto entries = zip_directory(file, refuse);
  const ZipEntry* chosen = entries.size() == 1 ? &entries[0] : nullptr;
  for (const auto& e : entries)
    if (e.name == std::string(wanted) + ".npy") chosen = &e;
  if (!chosen) {
    std::vector<std::string> names;
    for (const auto& e : entries) names.push_back(e.name.substr(0, 40));
    refuse(fmt::format("has no array named {} (it has: {})", wanted,
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  uint64_t at = chosen->header_at;
  if (at > file.size() || file.size() - at < 30 || little(file, at, 4) != 0x04034b50) refuse("has a damaged entry");
  uint64_t skip = 30 + little(file, at + 26, 2) + little(file, at + 28, 2);
  if (file.size() - at < skip || file.size() - at - skip < chosen->packed) refuse("is truncated inside an entry");
  Bytes packed = file.subspan(at + skip, chosen->packed);
  if (chosen->method == 0) {
    check_entry(packed, *chosen, refuse);
    return read_npy(packed, field, name);
  }
  if (chosen->method != 8) refuse("is packed by a method other than stored or deflate");
  auto data = inflate_entry(packed, chosen->size, refuse);
  check_entry({data.data(), data.size()}, *chosen, refuse);
  return read_npy({data.data(), data.size()}, field, name);
}

HostTensor read_array_file(const std::string& path, std::string_view wanted, const std::string& field) {
  Refuse refuse{field, path};
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  if (S_ISDIR(info.st_mode)) refuse("is a directory: a .npy or .npz file is needed");
  if (!S_ISREG(info.st_mode)) refuse("is not a regular file");
  // Of a file of any size only what is looked at is read: its header, and behind it the elements that this names.
  const int open_file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (open_file < 0) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
  const auto size = static_cast<size_t>(info.st_size);
  void* mapped = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, open_file, 0) : nullptr;
  const int why = errno;
  close(open_file);
  if (mapped == MAP_FAILED) refuse(fmt::format("cannot be read: {}", std::strerror(why)));
  const std::unique_ptr<void, std::function<void(void*)>> kept(mapped, [size](void* p) { munmap(p, size); });
  const Bytes file(static_cast<const std::byte*>(mapped), size);
  return path.ends_with(".npz") ? read_npz(file, wanted, field, path) : read_npy(file, field, path);
}

DType npy_type(DType t) { return t == DType::bf16 ? DType::f32 : t; }

std::string npy_header(DType dtype, const std::vector<int64_t>& shape) {
  std::string dims;
  for (int64_t n : shape) dims += fmt::format("{}, ", n);
  if (shape.size() > 1)
    dims.resize(dims.size() - 2);  // (3,) keeps its comma, (3, 4) has none at the end
  else if (shape.size() == 1)
    dims.pop_back();
  std::string dict =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}), }}", size_of(npy_type(dtype)), dims);
  size_t total = (10 + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - 10 - dict.size() - 1, ' ');
  dict += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dict.size() & 255);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

}  // namespace convscope
