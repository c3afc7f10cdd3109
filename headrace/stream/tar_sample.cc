#include "headrace/stream/tar_sample.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/codec/tar.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

// Writes the wire format of a tf.Example around values that are already in place. Varints have their largest
// width, which parsers accept, so the size of the bytes before a value does not depend on the value.
class ExampleWriter {
 public:
  static constexpr std::uint64_t kLengthBytes = 5, kNumberBytes = 10;
  static constexpr std::uint64_t kHeaderBytes = 1 + kLengthBytes;  // the header of a field

  /// Size of the map's entry before the values: the headers of the entry, its name, Feature, list and value,
  /// and the name itself.
  static std::uint64_t prefix_bytes(std::string_view name) { return 5 * kHeaderBytes + name.size(); }

  explicit ExampleWriter(std::byte* to) : to_(to) {}

  void header(std::uint32_t field, std::uint64_t bytes) {
    *to_++ = static_cast<std::byte>(field << 3 | 2);
    varint(bytes, kLengthBytes);
  }
  void prefix(std::string_view name, DataType type, std::uint64_t value_bytes) {
    header(1, prefix_bytes(name) - kHeaderBytes + value_bytes);
    header(1, name.size());
    bytes(as_bytes(name));
    header(2, 2 * kHeaderBytes + value_bytes);
    header(feature_field(type), kHeaderBytes + value_bytes);
    header(1, value_bytes);
  }
  void bytes(BytesView value) { to_ = std::copy(value.begin(), value.end(), to_); }
  void number(std::int64_t value) { varint(static_cast<std::uint64_t>(value), kNumberBytes); }
  // Turns the next `size_bytes` bytes into a field that Features does not have. Its content is whatever lies
  // there. REQUIRES: size_bytes is not 1
  void filler(std::uint64_t size_bytes) {
    constexpr auto kNoField = std::byte{15 << 3 | 2};
    if (size_bytes == 0) return;
    const std::uint64_t length_bytes = std::min(kLengthBytes, size_bytes - 1);
    *to_++ = kNoField;
    varint(size_bytes - 1 - length_bytes, length_bytes);
    to_ += size_bytes - 1 - length_bytes;
  }
  void leave(std::uint64_t size_bytes) { to_ += size_bytes; }

 private:
  void varint(std::uint64_t value, std::uint64_t width) {
    for (; width > 1; --width, value >>= 7) *to_++ = static_cast<std::byte>(value | 0x80);
    *to_++ = static_cast<std::byte>(value & 0x7f);
  }

  std::byte* to_;
};

}  // namespace

const Column* TarSampleConverter::wanted(std::string_view feature) const {
  const auto found = std::ranges::find(wanted_, feature, &Column::name);
  return found == wanted_.end() ? nullptr : &*found;
}

// The number that the file becomes; none if the file's bytes become the value.
std::optional<std::int64_t> TarSampleConverter::number_of(std::string_view field, BytesView data) const {
  const Column* column = wanted(field);
  const bool is_asked_for =
      column != nullptr ? column->type == DataType::kInt64 : is_sample_number_field(field);
  return is_asked_for ? parse_sample_number(data) : std::nullopt;
}

Status TarSampleConverter::add_file(File file) {
  if (file.field == kSampleKeyFeature || std::ranges::find(files_, file.field, &File::field) != files_.end())
    return Error{Code::kDataLoss, concat("field ", replace_invalid_utf8(file.field).text, " occurs twice")};
  if (files_.size() == kMaxSampleFiles)
    return Error{Code::kDataLoss, concat("it has more than ", kMaxSampleFiles, " files")};
  if (file.bytes > kDefaultRecordLimitBytes - sample_bytes_)
    return Error{Code::kDataLoss, concat("it has more than ", format_size(kDefaultRecordLimitBytes))};
  sample_bytes_ += file.bytes;
  files_.push_back(std::move(file));
  return {};
}

// Writes the record of the added files, which lie between `begin` and `end`.
Status TarSampleConverter::write_record(MutableBytesView part, std::uint64_t begin, std::uint64_t end) {
  using Writer = ExampleWriter;
  const Error no_room{Code::kInternal, "its headers have no room for the names of its features"};
  const bool has_key = is_wanted(kSampleKeyFeature);
  begin += kRecordFramingBytes;
  std::uint64_t at = begin + Writer::kHeaderBytes;
  if (has_key) at += Writer::prefix_bytes(kSampleKeyFeature) + key_.size();
  if (at + Writer::kHeaderBytes > files_.front().begin) return no_room;
  std::erase_if(files_, [this](const File& file) { return !is_wanted(file.field); });
  for (File& file : files_) file.number = number_of(file.field, part.subspan(file.begin, file.bytes));
  if (!files_.empty()) {
    // No filler fits into a single byte, so the last value moves if one byte would be left after it. A number
    // is written before its file's content.
    File& last = files_.back();
    if (end - last.begin - (last.number ? 0 : last.bytes) == 1) {
      std::memmove(&part[last.begin - 1], &part[last.begin], last.bytes);
      --last.begin;
    }
  }
  Writer writer(&part[begin]);
  writer.header(1, end - begin - Writer::kHeaderBytes);
  if (has_key) {
    writer.prefix(kSampleKeyFeature, DataType::kBytes, key_.size());
    writer.bytes(as_bytes(key_));
  }
  for (const File& file : files_) {
    const std::uint64_t front = Writer::prefix_bytes(file.field) + (file.number ? Writer::kNumberBytes : 0);
    if (at + Writer::kHeaderBytes + front > file.begin) return no_room;
    writer.filler(file.begin - front - at);
    at = file.begin;
    if (file.number) {
      writer.prefix(file.field, DataType::kInt64, Writer::kNumberBytes);
      writer.number(*file.number);
    } else {
      writer.prefix(file.field, DataType::kBytes, file.bytes);
      writer.leave(file.bytes);
      at += file.bytes;
    }
  }
  writer.filler(end - at);
  files_.clear();
  sample_bytes_ = 0;
  return {};
}

Status TarSampleConverter::read_samples(const TarPart& part, std::vector<std::uint64_t>& offsets) {
  TarWalker walker(part.bytes, part.offset_bytes);
  std::uint64_t begin = 0;  // where the current sample begins
  const auto flush = [&](std::uint64_t end) -> Status {
    if (files_.empty()) return {};
    offsets.push_back(begin);
    return write_record(part.bytes, std::exchange(begin, end), end);
  };
  while (true) {
    HEADRACE_TRY(const std::optional<TarEntry> entry, walker.next());
    if (!entry) break;
    const auto name = split_sample_path(entry->path);
    const bool is_file = entry->kind == TarEntryKind::kFile || entry->kind == TarEntryKind::kSparseFile;
    if (!is_file || !name) continue;
    // The bytes before this header have been read and may be overwritten.
    if (name->key != key_) HEADRACE_CHECK(flush(entry->offset_bytes - part.offset_bytes));
    key_ = name->key;
    if (entry->kind == TarEntryKind::kSparseFile)
      return Error{Code::kDataLoss, "a sparse file, which is not supported: pack it without --sparse"};
    HEADRACE_CHECK(add_file(
        {to_lower(name->field), entry->data_offset_bytes - part.offset_bytes, entry->data_bytes, {}}));
  }
  if (part.is_end) {
    HEADRACE_TRY(const bool is_whole, walker.ends_in_zeros());
    if (!is_whole) return Error{Code::kDataLoss, "the tar has no end mark: it was truncated"};
  }
  if (files_.empty()) return Error{Code::kDataLoss, "no sample"};
  return flush(part.bytes.size());
}

Status TarSampleConverter::convert(const TarPart& part, std::vector<std::uint64_t>& offsets) {
  key_.clear();
  files_.clear();
  sample_bytes_ = 0;
  Status status = read_samples(part, offsets);
  if (status || key_.empty()) return status;
  return std::move(status).error().in(concat("sample ", replace_invalid_utf8(key_).text));
}

}  // namespace headrace
