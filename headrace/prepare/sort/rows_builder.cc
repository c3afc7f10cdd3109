#include "headrace/prepare/sort/rows_builder.h"

#include <algorithm>
#include <limits>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/prepare/sort/row_encoding.h"

namespace headrace {
namespace {

constexpr std::size_t kChunkBytes = 1 << 20;
// Rows are prefetched because they lie scattered in memory when they are copied in their order.
constexpr std::size_t kPrefetchedRows = 8;

// Returns a row in the builder's own memory, where the size of the row stands before it.
BytesView row_at(const std::byte* row) {
  std::size_t position = 0;
  std::uint64_t body_bytes = 0;
  read_varint({row, kMinRowBytes}, position, body_bytes);
  return {row, position + body_bytes};
}

// Compares rows that have the same order. If all other keys are equal too, their bytes decide.
bool comes_before(const std::byte* a, const std::byte* b) {
  const BytesView a_bytes = row_at(a), b_bytes = row_at(b);
  EncodedRow a_row, b_row;
  std::size_t a_end = 0, b_end = 0;
  read_row(a_bytes, a_end, a_row);
  read_row(b_bytes, b_end, b_row);
  if (const auto compared = compare_order(a_row, b_row); compared != 0) return compared < 0;
  if (a_row.place != b_row.place) return a_row.place < b_row.place;
  return as_text(a_bytes) < as_text(b_bytes);
}

void add_up(std::uint64_t& sum, std::uint64_t amount) {
  sum = amount > std::numeric_limits<std::uint64_t>::max() - sum ? std::numeric_limits<std::uint64_t>::max()
                                                                 : sum + amount;
}

void append_footer(const RowsFooter& footer, Bytes& out) {
  const Bytes bytes = footer.serialize();
  const std::uint64_t offset_bytes = out.size();
  append(out, bytes);
  append_little_endian(out, offset_bytes);
  append_little_endian<std::uint64_t>(out, bytes.size());
  append_little_endian(out, crc32c(bytes));
  append(out, as_bytes(kRowsTrailer));
}

}  // namespace

Status RowsBuilder::use_split(std::string_view name) {
  if (latest_ != nullptr && latest_->first == name) return {};
  auto found = splits_.find(name);
  if (found == splits_.end()) {
    if (!is_valid_utf8(name) || name.size() > kMaxSplitNameBytes) {
      return Error{Code::kInvalidArgument,
                   concat("a split is called \"", printable_line(name, 100),
                          "\", which is not UTF-8 or has more than ", kMaxSplitNameBytes,
                          " bytes; name the column that holds the splits")};
    }
    if (splits_.size() == kMaxRowsSplits) {
      return Error{Code::kInvalidArgument,
                   concat("\"", printable_line(name, 100), "\" is one split too many: there can be at most ",
                          kMaxRowsSplits, "; name the column that holds the splits")};
    }
    found = splits_.emplace(name, Split{}).first;
  }
  latest_ = &*found;
  return {};
}

std::byte* RowsBuilder::take_room(std::size_t bytes) {
  if (bytes > room_bytes_) {
    room_bytes_ = std::max(bytes, kChunkBytes);
    room_ = chunks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(room_bytes_)).get();
  }
  room_bytes_ -= bytes;
  return std::exchange(room_, room_ + bytes);
}

Status RowsBuilder::add(std::string_view split_name, const OrderedRow& row,
                        const std::optional<ContentDigest>& content) {
  HEADRACE_TRY(const std::size_t body_bytes, row_body_bytes(row));
  HEADRACE_CHECK(use_split(split_name));
  Split& split = latest_->second;
  const std::size_t bytes = varint_size(body_bytes) + body_bytes;
  std::byte* const at = take_room(bytes);
  write_row(at, row, body_bytes);
  split.keys.push_back({row.order, at});
  split.bytes += bytes;
  row_bytes_ += bytes;
  for (const Cell& cell : row.cells) {
    if (cell.kind == CellKind::kReference)
      add_up(split.referenced_bytes, cell.reference.size_bytes.value_or(0));
  }
  if (content) contents_.push_back({*content, row.place, latest_});
  return {};
}

BucketTable RowsBuilder::append_rows(const Split& split, Bytes& out) {
  const int bits = BucketTable::bits_for(split.keys.size(), split.bytes);
  const std::span<const Key> keys = split.keys;
  std::vector<Bucket> buckets(std::size_t{1} << bits);
  std::size_t next = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    Bucket& bucket = buckets[i];
    bucket.offset_bytes = out.size();
    for (; next < keys.size() && (bits == 0 || keys[next].order >> (64 - bits) == i); ++next) {
      if (next + kPrefetchedRows < keys.size()) __builtin_prefetch(keys[next + kPrefetchedRows].row);
      append(out, row_at(keys[next].row));
      ++bucket.rows;
    }
    bucket.crc32c = crc32c(BytesView(out).subspan(bucket.offset_bytes));
  }
  return {bits, std::move(buckets), out.size()};
}

Bucket RowsBuilder::append_hashes(Bytes& out) const {
  std::map<const Splits::value_type*, std::uint32_t> numbers;
  for (const Splits::value_type& split : splits_)
    numbers.emplace(&split, static_cast<std::uint32_t>(numbers.size()));
  std::vector<ContentHash> hashes;
  hashes.reserve(contents_.size());
  for (const Content& content : contents_)
    hashes.push_back({content.digest, content.place, numbers.at(content.split)});
  std::sort(hashes.begin(), hashes.end());
  const std::size_t begin = out.size();
  for (const ContentHash& hash : hashes) {
    append_little_endian(out, hash.digest.first);
    append_little_endian(out, hash.digest.second);
    append_little_endian(out, hash.place.file);
    append_little_endian(out, hash.place.row);
    append_little_endian(out, hash.split);
  }
  return {begin, static_cast<std::uint32_t>(hashes.size()), crc32c(BytesView(out).subspan(begin))};
}

// An upper bound of the footer's size. It is reserved, so that adding the footer does not copy the object.
std::size_t RowsBuilder::footer_bytes() const {
  std::size_t bytes = 256;
  for (const auto& [name, split] : splits_) {
    const std::size_t escaped_bytes = 6 * name.size();
    bytes += 256 + escaped_bytes + (sizeof(Bucket) << BucketTable::bits_for(split.keys.size(), split.bytes));
  }
  return bytes;
}

Bytes RowsBuilder::finish() && {
  Bytes out = to_bytes(kRowsHeader);
  out.reserve(out.size() + size_bytes() + footer_bytes());
  RowsFooter footer;
  for (auto& [name, split] : splits_) {
    std::sort(split.keys.begin(), split.keys.end(), [](const Key& a, const Key& b) {
      return a.order != b.order ? a.order < b.order : comes_before(a.row, b.row);
    });
    footer.splits.push_back({name, split.keys.size(), split.bytes, split.referenced_bytes});
    footer.tables.push_back(append_rows(split, out));
  }
  footer.hashes = append_hashes(out);
  append_footer(footer, out);
  return out;
}

}  // namespace headrace
