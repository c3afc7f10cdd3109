#include "headrace/codec/tar.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kExtendedLimitBytes = 1 << 20;
constexpr int kExtendedLimit = 32;  // the largest number of headers before one entry
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

// The position of a field in a header.
struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 6}, kPrefix{345, 155};
constexpr std::size_t kTypeOffset = 156;
// The positions of the flag in GNU's sparse headers that says whether another block of the map follows.
constexpr std::size_t kSparseFlagOffset = 482, kSparseMapFlagOffset = 504;

using Header = std::array<char, kTarBlockBytes>;

std::string_view text_of(const Header& header, Field field) {
  const std::string_view text(header.data() + field.offset, field.size);
  return text.substr(0, text.find('\0'));
}

// Reads octal digits between spaces, up to a zero byte. GNU tar also writes big-endian binary after a byte of
// 0x80.
std::optional<std::uint64_t> number_of(const Header& header, Field field) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(header.data()) + field.offset;
  std::uint64_t value = 0;
  if (bytes[0] == 0x80) {
    for (std::size_t i = 1; i < field.size; ++i) {
      if (value >= kMaxBytes >> 8) return std::nullopt;
      value = value << 8 | bytes[i];
    }
    return value;
  }
  for (const char c : trim(text_of(header, field))) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

// The checksum is computed over the header with spaces in place of the checksum. Some old programs treated
// the bytes as signed.
bool has_right_checksum(const Header& header) {
  const auto expected = number_of(header, kChecksum);
  if (!expected) return false;
  std::int64_t sum = 0, above_127 = 0;
  for (const char c : header) {
    sum += static_cast<unsigned char>(c);
    above_127 += static_cast<unsigned char>(c) >> 7;
  }
  for (std::size_t i = 0; i < kChecksum.size; ++i) {
    const auto byte = static_cast<unsigned char>(header[kChecksum.offset + i]);
    sum += ' ' - byte;
    above_127 -= byte >> 7;
  }
  const auto wanted = static_cast<std::int64_t>(*expected);
  return sum == wanted || sum - 256 * above_127 == wanted;
}

bool is_zero(const Header& header) {
  return std::ranges::all_of(header, [](char c) { return c == '\0'; });
}

bool is_extended(char type) { return std::string_view("xXgLK").find(type) != std::string_view::npos; }

TarEntryKind kind_of(char type, std::string_view path) {
  if (type == 'S') return TarEntryKind::kSparseFile;
  const bool is_regular = type == '0' || type == '\0' || type == '7';
  // Before POSIX, folders had no type of their own.
  if (type == '5' || type == 'D' || (is_regular && path.ends_with('/'))) return TarEntryKind::kFolder;
  return is_regular ? TarEntryKind::kFile : TarEntryKind::kOther;
}

// Links, devices and folders may state a size, but have no data.
bool has_data(char type) { return std::string_view("123456").find(type) == std::string_view::npos; }

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

}  // namespace

bool looks_like_tar(BytesView head) {
  constexpr std::string_view kUstar = "ustar";
  return head.size() >= kMagic.offset + kUstar.size() &&
         as_text(head.subspan(kMagic.offset, kUstar.size())) == kUstar;
}

TarWalker::TarWalker(BytesView part, std::uint64_t offset_bytes)
    : TarWalker(offset_bytes + part.size(),
                [part, offset_bytes](std::uint64_t offset, std::size_t size) -> Result<BytesView> {
                  return part.subspan(offset - offset_bytes, size);
                }) {
  begin_ = position_ = offset_bytes;
}

Error TarWalker::damaged(std::string_view what, std::uint64_t resume_at) {
  resume_at_ = std::min(resume_at, end_bytes_);
  return {Code::kDataLoss, concat(what, " at byte ", position_)};
}

// Returns false if the tar is truncated before the end of the block.
Result<bool> TarWalker::read_block(std::uint64_t offset, Block& block) {
  if (offset > end_bytes_ || end_bytes_ - offset < kTarBlockBytes) return false;
  HEADRACE_TRY(const BytesView bytes, read_(offset, kTarBlockBytes));
  std::memcpy(block.data(), bytes.data(), kTarBlockBytes);
  return true;
}

Result<std::optional<TarEntry>> TarWalker::next() {
  const std::uint64_t before = position_;
  Extended extended;
  std::optional<std::uint64_t> first;  // where the entry's headers begin
  for (int headers = 0; position_ < end_bytes_; ++headers) {
    Block header;
    HEADRACE_TRY(const bool is_there, read_block(position_, header));
    const auto fail = [&](std::string_view what, std::uint64_t resume_at) {
      Error error = damaged(what, resume_at);
      position_ = before;
      return error;
    };
    if (!is_there) return fail("the tar is cut", end_bytes_);
    if (!first && is_zero(header)) {
      position_ += kTarBlockBytes;
      headers = -1;
      continue;
    }
    const std::uint64_t data_offset = position_ + kTarBlockBytes;
    if (!has_right_checksum(header)) return fail("a damaged tar header", data_offset);
    first = first.value_or(position_);
    const char type = header[kTypeOffset];
    if (!is_extended(type)) {
      position_ = data_offset;
      auto entry = entry_of(header, std::move(extended));
      if (!entry) return position_ = before, std::move(entry).error();
      entry->offset_bytes = *first;
      return std::optional(*std::move(entry));
    }
    const auto size = number_of(header, kSize);
    if (!size || *size > kExtendedLimitBytes || headers >= kExtendedLimit)
      return fail("a tar header for a long name that is too large", data_offset);
    if (data_offset + padded(*size) > end_bytes_) return fail("the tar is cut", end_bytes_);
    position_ = data_offset;
    if (Status read = read_extended(type, *size, extended); !read)
      return position_ = before, std::move(read).error();
    position_ = data_offset + padded(*size);
  }
  if (!first) return std::optional<TarEntry>();
  Error error = damaged("the tar is cut", end_bytes_);
  position_ = before;
  return error;
}

// A pax header is a series of "<length of this line> <key>=<value>\n". The data of the other headers are the
// name.
Status TarWalker::read_extended(char type, std::uint64_t data_bytes, Extended& extended) {
  if (type == 'g' || type == 'K') return {};
  HEADRACE_TRY(const BytesView data, read_(position_, data_bytes));
  std::string_view text = as_text(data);
  if (type == 'L') {
    extended.path = text.substr(0, text.find('\0'));
    return {};
  }
  while (!text.empty()) {
    const std::size_t space = text.find(' '), equals = text.find('=');
    const auto length = parse_number<std::uint64_t>(text.substr(0, space));
    if (!length || equals == text.npos || *length > text.size() || *length <= equals + 1 || equals < space ||
        text[*length - 1] != '\n')
      return damaged("a damaged pax header", position_);
    const std::string_view key = text.substr(space + 1, equals - space - 1);
    const std::string_view value = text.substr(equals + 1, *length - equals - 2);
    if (key == "path") extended.path = value;
    if (key == "size") {
      extended.data_bytes = parse_number<std::uint64_t>(value);
      if (!extended.data_bytes) return damaged("a damaged pax header", position_);
    }
    extended.is_sparse = extended.is_sparse || key.starts_with("GNU.sparse.");
    text.remove_prefix(*length);
  }
  return {};
}

// REQUIRES: position_ is after the header
Status TarWalker::skip_sparse_map(const Block& header) {
  Block map = header;
  for (std::size_t flag = kSparseFlagOffset; map[flag] != '\0'; flag = kSparseMapFlagOffset) {
    HEADRACE_TRY(const bool is_there, read_block(position_, map));
    if (!is_there) return damaged("the tar is cut", end_bytes_);
    position_ += kTarBlockBytes;
  }
  return {};
}

// Moves position_ to the end of the data. REQUIRES: position_ is after the header
Result<TarEntry> TarWalker::entry_of(const Block& header, Extended extended) {
  const char type = header[kTypeOffset];
  TarEntry entry;
  const std::string_view prefix = text_of(header, kPrefix);
  // GNU's magic is "ustar ", and GNU uses the bytes of the prefix for other fields.
  const bool has_prefix = !prefix.empty() && text_of(header, kMagic) == "ustar";
  entry.path = extended.path ? *std::move(extended.path)
               : has_prefix  ? concat(prefix, '/', text_of(header, kName))
                             : std::string(text_of(header, kName));
  const auto size = extended.data_bytes ? extended.data_bytes : number_of(header, kSize);
  if (!size) return damaged("a tar header without a size", position_);
  if (type == 'S') HEADRACE_CHECK(skip_sparse_map(header));
  entry.kind = extended.is_sparse ? TarEntryKind::kSparseFile : kind_of(type, entry.path);
  entry.data_offset_bytes = position_;
  entry.data_bytes = has_data(type) ? *size : 0;
  if (entry.data_bytes > end_bytes_ - position_) {
    return damaged(concat("the tar is cut within ", replace_invalid_utf8(entry.path).text), end_bytes_);
  }
  position_ = std::min(position_ + padded(entry.data_bytes), end_bytes_);
  return entry;
}

Result<bool> TarWalker::pass_over_damage() {
  Block block;
  for (std::uint64_t at = resume_at_; at < end_bytes_; at += kTarBlockBytes) {
    HEADRACE_TRY(const bool is_there, read_block(at, block));
    if (!is_there) break;
    // A block of zeros has no checksum.
    if (!has_right_checksum(block)) continue;
    position_ = at;
    return true;
  }
  position_ = end_bytes_;
  return false;
}

Result<bool> TarWalker::ends_in_zeros() {
  Block block;
  if (end_bytes_ - begin_ < kTarBlockBytes) return false;
  HEADRACE_TRY(const bool is_there, read_block(end_bytes_ - kTarBlockBytes, block));
  return is_there && is_zero(block);
}

}  // namespace headrace
