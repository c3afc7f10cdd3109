#include "headrace/prepare/sort/rows_footer.h"

#include <bit>
#include <optional>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/wire.h"
#include "headrace/prepare/sort/row_encoding.h"

namespace headrace {
namespace {

constexpr std::uint64_t kBucketRows = 64, kBucketBytes = 16 << 10;
constexpr std::size_t kBucketEntryBytes = 16;
// Room for kMaxRowsSplits names of kMaxSplitNameBytes. JSON may write each byte of a name as six bytes.
constexpr std::size_t kMaxSplitsBytes = 8 << 20;

Error damaged(const char* what) { return {Code::kDataLoss, what}; }

void append_bucket(Bytes& out, const Bucket& bucket) {
  append_little_endian(out, bucket.offset_bytes);
  append_little_endian(out, bucket.rows);
  append_little_endian(out, bucket.crc32c);
}

Bucket load_bucket(const std::byte* from) {
  return {load_little_endian<std::uint64_t>(from), load_little_endian<std::uint32_t>(from + 8),
          load_little_endian<std::uint32_t>(from + 12)};
}

bool take_number(const Json& from, const char* name, std::uint64_t& out) {
  const Json& found = from[name];
  if (!found.is_unsigned()) return false;
  out = found.as<std::uint64_t>();
  return true;
}

bool take_split(const Json& from, RowsSplit& split) {
  const Json& name = from["name"];
  if (!name.is_string()) return false;
  split.name = name.text();
  return take_number(from, "rows", split.rows) && take_number(from, "bytes", split.bytes) &&
         take_number(from, "referenced_bytes", split.referenced_bytes);
}

Result<std::vector<RowsSplit>> parse_splits(BytesView part) {
  if (part.size() > kMaxSplitsBytes) return damaged("too long a list of splits");
  const Json document = parse_json(as_text(part)).value_or(Json());
  const Json& list = document["splits"];
  if (!list.is_array()) return damaged("no list of splits");
  std::vector<RowsSplit> splits;
  for (const Json& from : list.values()) {
    RowsSplit split;
    if (splits.size() == kMaxRowsSplits || !take_split(from, split)) return damaged("malformed split");
    if (!splits.empty() && splits.back().name >= split.name) return damaged("splits do not ascend");
    splits.push_back(std::move(split));
  }
  return splits;
}

// Parses the table of a split whose rows begin at `begin`.
Result<BucketTable> parse_table(BytesView part, const RowsSplit& split, std::uint64_t begin) {
  const std::uint64_t end = begin + split.bytes;
  if (part.size() < sizeof(std::uint32_t)) return damaged("a table is cut");
  const auto count = load_little_endian<std::uint32_t>(part.data());
  if (!std::has_single_bit(count) || std::countr_zero(count) > BucketTable::kMaxBits ||
      part.size() != sizeof count + count * kBucketEntryBytes) {
    return damaged("a table does not have the size that it states");
  }
  std::vector<Bucket> buckets;
  buckets.reserve(count);
  std::uint64_t rows = 0;
  for (const std::byte* at = part.data() + sizeof count; buckets.size() < count; at += kBucketEntryBytes) {
    const Bucket bucket = load_bucket(at);
    if (bucket.offset_bytes < (buckets.empty() ? begin : buckets.back().offset_bytes) ||
        bucket.offset_bytes > end || (buckets.empty() && bucket.offset_bytes != begin)) {
      return damaged("buckets do not follow one another");
    }
    rows += bucket.rows;
    buckets.push_back(bucket);
  }
  if (rows != split.rows || rows == 0 || rows > split.bytes / kMinRowBytes)
    return damaged("buckets do not make up their split");
  return BucketTable(std::countr_zero(count), std::move(buckets), end);
}

// Removes the next part from the rest of a footer; none if the part is cut.
std::optional<BytesView> next_part(BytesView& rest) {
  std::size_t position = 0;
  std::uint64_t size = 0;
  if (!read_varint(rest, position, size) || size > rest.size() - position) return std::nullopt;
  const BytesView part = rest.subspan(position, size);
  rest = rest.subspan(position + size);
  return part;
}

void append_part(Bytes& out, BytesView part) {
  append_varint(out, part.size());
  append(out, part);
}

}  // namespace

ContentDigest digest_content(BytesView content) {
  const Bytes digest = sha256(content);
  return {load_little_endian<std::uint64_t>(digest.data()),
          load_little_endian<std::uint64_t>(digest.data() + sizeof(std::uint64_t))};
}

int BucketTable::bits_for(std::uint64_t rows, std::uint64_t bytes) {
  int bits = 0;
  while (bits < kMaxBits && (rows > kBucketRows << bits || bytes > kBucketBytes << bits)) ++bits;
  return bits;
}

Bytes RowsFooter::serialize() const {
  Json document = {{"splits", Json::array()}};
  for (const RowsSplit& split : splits) {
    document["splits"].push_back({{"name", split.name},
                                  {"rows", split.rows},
                                  {"bytes", split.bytes},
                                  {"referenced_bytes", split.referenced_bytes}});
  }
  Bytes out, part;
  append_part(out, as_bytes(document.dump()));
  for (const BucketTable& table : tables) {
    part.clear();
    append_little_endian(part, static_cast<std::uint32_t>(table.buckets().size()));
    for (const Bucket& bucket : table.buckets()) append_bucket(part, bucket);
    append_part(out, part);
  }
  part.clear();
  append_bucket(part, hashes);
  append_part(out, part);
  return out;
}

Result<RowsFooter> RowsFooter::parse(BytesView footer, std::uint64_t offset_bytes) {
  RowsFooter out;
  std::optional<BytesView> part = next_part(footer);
  if (!part) return damaged("its first part is cut");
  HEADRACE_TRY(out.splits, parse_splits(*part));
  std::uint64_t end = kRowsHeader.size();
  for (const RowsSplit& split : out.splits) {
    if (split.bytes > offset_bytes - end) return damaged("a split ends past all rows");
    if (!(part = next_part(footer))) return damaged("a table is cut");
    HEADRACE_TRY(BucketTable table, parse_table(*part, split, end));
    out.tables.push_back(std::move(table));
    end += split.bytes;
  }
  part = next_part(footer);
  if (!part || part->size() != kBucketEntryBytes || !footer.empty()) return damaged("its last part is cut");
  out.hashes = load_bucket(part->data());
  if (out.hashes.offset_bytes != end || offset_bytes - end != out.hashes.rows * kContentHashBytes) {
    return damaged("rows and hashes do not make up the object");
  }
  return out;
}

}  // namespace headrace
