#include "headrace/engine/use/npz.h"

#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint32_t kEndSignature = 0x06054b50, kDirectorySignature = 0x02014b50,
                        kLocalSignature = 0x04034b50;
constexpr std::size_t kEndBytes = 22, kDirectoryEntryBytes = 46, kLocalHeaderBytes = 30;
constexpr std::uint32_t kStored = 0, kDeflated = 8;
// The best ratio of deflate: 258 bytes from two bits.
constexpr std::uint64_t kMaxDeflateRatio = 1032;

Error malformed(std::string_view what, std::size_t offset) {
  return {Code::kDataLoss, concat("malformed .npz file: ", what, " at offset ", offset)};
}

std::uint32_t u16(BytesView file, std::size_t offset) {
  return load_little_endian<std::uint16_t>(file.data() + offset);
}
std::uint32_t u32(BytesView file, std::size_t offset) {
  return load_little_endian<std::uint32_t>(file.data() + offset);
}

// The offset of the end-of-directory record: the last record whose comment extends to the end of the file.
std::optional<std::size_t> find_end_record(BytesView file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const std::size_t last = file.size() - kEndBytes;
  const std::size_t first = last > 0xffff ? last - 0xffff : 0;
  for (std::size_t offset = last + 1; offset-- > first;) {
    if (u32(file, offset) == kEndSignature && offset + kEndBytes + u16(file, offset + 20) == file.size())
      return offset;
  }
  return std::nullopt;
}

Result<Bytes> inflate(BytesView compressed, std::size_t size) {
  struct Free {
    void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
  };
  const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return Error{Code::kResourceExhausted, "no memory for a decompressor"};
  Bytes out(size);
  if (libdeflate_deflate_decompress(decompressor.get(), compressed.data(), compressed.size(), out.data(),
                                    size, nullptr) != LIBDEFLATE_SUCCESS) {
    return Error{Code::kDataLoss, "the deflated data is corrupt"};
  }
  return out;
}

// The value after `'key':` in the header of a .npy file, which is a Python dictionary in a fixed form.
std::optional<std::string_view> header_value(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(concat("'", key, "':"));
  if (at == std::string_view::npos) return std::nullopt;
  return trim(header.substr(at + key.size() + 3));
}

std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
  std::vector<std::uint64_t> shape;
  for (const std::string& part : split(text.substr(1, end - 1), ',')) {
    if (trim(part).empty()) continue;
    const auto size = parse_number<std::uint64_t>(trim(part));
    if (!size) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

std::optional<std::uint64_t> data_bytes(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
  const auto item = parse_number<std::uint64_t>(dtype.substr(std::min<std::size_t>(2, dtype.size())));
  if (!item) return std::nullopt;
  std::uint64_t bytes = *item;
  for (const std::uint64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

Result<NpyArray> parse_npy(Bytes file) {
  const std::string_view text = as_text(file);
  if (file.size() < 12 || !text.starts_with("\x93NUMPY")) return Error{Code::kDataLoss, "not a .npy file"};
  const bool short_header = file[6] == std::byte{1};
  const std::size_t header_start = short_header ? 10 : 12;
  const std::size_t header_bytes = short_header ? u16(file, 8) : u32(file, 8);
  if (header_bytes > file.size() - header_start) return Error{Code::kDataLoss, "the .npy header is cut off"};
  const std::string_view header = text.substr(header_start, header_bytes);
  const auto dtype = header_value(header, "descr");
  const auto order = header_value(header, "fortran_order");
  const auto shape_text = header_value(header, "shape");
  if (!dtype || !order || !shape_text) return Error{Code::kDataLoss, "the .npy header is incomplete"};
  if (!dtype->starts_with('\'') || !order->starts_with("False")) {
    return Error{Code::kUnimplemented, concat("this kind of .npy array is not supported: ", header)};
  }
  NpyArray array;
  array.dtype = dtype->substr(1, dtype->find('\'', 1) - 1);
  const auto shape = parse_shape(*shape_text);
  const auto bytes = shape ? data_bytes(array.dtype, *shape) : std::nullopt;
  if (!bytes || *bytes != file.size() - header_start - header_bytes) {
    return Error{Code::kDataLoss,
                 concat("the .npy data does not have the size that its header states: ", header)};
  }
  array.shape = *shape;
  array.data_offset = header_start + header_bytes;
  array.file = std::move(file);
  return array;
}

Result<NpzFile> NpzFile::open(BytesView file, std::uint64_t max_total_bytes) {
  const auto end = find_end_record(file);
  if (!end) return Error{Code::kDataLoss, "not an .npz file, or cut off: it has no zip directory"};
  const std::size_t count = u16(file, *end + 10);
  std::size_t offset = u32(file, *end + 16);
  NpzFile npz;
  npz.file_ = file;
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (offset > *end || *end - offset < kDirectoryEntryBytes || u32(file, offset) != kDirectorySignature) {
      return malformed("directory entry", offset);
    }
    const std::size_t name_bytes = u16(file, offset + 28);
    const std::size_t entry_bytes =
        kDirectoryEntryBytes + name_bytes + u16(file, offset + 30) + u16(file, offset + 32);
    if (*end - offset < entry_bytes) return malformed("directory entry", offset);
    const Entry entry{u16(file, offset + 10), u32(file, offset + 16), u32(file, offset + 20),
                      u32(file, offset + 24), u32(file, offset + 42)};
    total_bytes += entry.uncompressed_bytes;
    if (total_bytes > max_total_bytes) {
      return Error{Code::kDataLoss, concat("the .npz file holds more than ", max_total_bytes, " bytes")};
    }
    std::string_view name = as_text(file.subspan(offset + kDirectoryEntryBytes, name_bytes));
    if (name.ends_with(".npy")) name.remove_suffix(4);
    npz.entries_.insert_or_assign(std::string(name), entry);
    offset += entry_bytes;
  }
  return npz;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

Result<NpyArray> NpzFile::read(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    return Error{Code::kNotFound, concat("the .npz file has no array \"", name, "\"")};
  const Entry& entry = found->second;
  const std::size_t header = entry.local_header_offset;
  if (header > file_.size() || file_.size() - header < kLocalHeaderBytes ||
      u32(file_, header) != kLocalSignature) {
    return malformed(concat("local header of \"", name, "\""), header);
  }
  // The sizes come from the directory, because the local header may omit them.
  const std::size_t data = header + kLocalHeaderBytes + u16(file_, header + 26) + u16(file_, header + 28);
  if (data > file_.size() || file_.size() - data < entry.compressed_bytes) {
    return malformed(concat("data of \"", name, "\" cut off"), data);
  }
  const BytesView compressed = file_.subspan(data, entry.compressed_bytes);
  Bytes bytes;
  if (entry.method == kStored && entry.compressed_bytes == entry.uncompressed_bytes) {
    bytes.assign(compressed.begin(), compressed.end());
  } else if (entry.method == kDeflated &&
             entry.uncompressed_bytes <= kMaxDeflateRatio * (compressed.size() + 1)) {
    HEADRACE_TRY(bytes, inflate(compressed, entry.uncompressed_bytes));
  } else if (entry.method != kStored && entry.method != kDeflated) {
    return Error{Code::kUnimplemented,
                 concat("array \"", name, "\": zip method ", entry.method, " is not supported")};
  } else {
    return malformed(concat("sizes of \"", name, "\""), header);
  }
  if (libdeflate_crc32(0, bytes.data(), bytes.size()) != entry.crc32) {
    return Error{Code::kDataLoss, concat("array \"", name, "\" does not match its CRC-32")};
  }
  auto array = parse_npy(std::move(bytes));
  if (!array) return std::move(array).error().in(concat("array \"", name, "\""));
  return array;
}

}  // namespace headrace
