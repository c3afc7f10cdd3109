#include "headrace/prepare/sort/rows_reader.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

// Room for the trailer, and for the tables of a spill of 32 MiB with a few splits.
constexpr std::uint64_t kEndBytes = 128 << 10;
// Far larger than the tables of 1,024 splits.
constexpr std::uint64_t kMaxFooterBytes = 128 << 20;

constexpr std::string_view kNoSpill = "not the end of a spill of rows, or a damaged one";

// Reads the last bytes with one request.
Result<Bytes> read_end(const SpillObject& object, std::uint64_t size_bytes, const CallOptions& options) {
  const std::uint64_t offset = object.size_bytes - size_bytes;
  if (object.store == nullptr) {
    const BytesView end = object.memory.subspan(offset);
    return Bytes(end.begin(), end.end());
  }
  Bytes out(size_bytes);
  HEADRACE_CHECK(read_exactly(*object.store, object.key, out,
                              {.offset_bytes = offset, .if_version = object.version, .call = options}));
  return out;
}

// Finds the place of the footer in the trailer.
Result<Bucket> find_footer(const SpillObject& object, BytesView end) {
  const std::uint64_t trailer_begin = object.size_bytes - kRowsTrailerBytes;
  const std::byte* const trailer = end.data() + end.size() - kRowsTrailerBytes;
  const auto offset = load_little_endian<std::uint64_t>(trailer);
  const auto size = load_little_endian<std::uint64_t>(trailer + 8);
  if (as_text({trailer + 20, kRowsTrailer.size()}) != kRowsTrailer || offset < kRowsHeader.size() ||
      offset > trailer_begin || size != trailer_begin - offset || size > kMaxFooterBytes) {
    return damaged_spill(object, trailer_begin, kNoSpill);
  }
  return Bucket{offset, 0, load_little_endian<std::uint32_t>(trailer + 16)};
}

Result<RowsFooter> read_footer(const SpillObject& object, const CallOptions& options) {
  HEADRACE_TRY(const Bytes end, read_end(object, std::min(object.size_bytes, kEndBytes), options));
  HEADRACE_TRY(const Bucket footer, find_footer(object, end));
  BucketRead read{
      .object = &object, .buckets = {&footer, 1}, .end_bytes = object.size_bytes - kRowsTrailerBytes};
  if (read.size_bytes() <= end.size() - kRowsTrailerBytes) {
    read.data = BytesView(end).last(read.size_bytes() + kRowsTrailerBytes).first(read.size_bytes());
    if (crc32c(read.data) != footer.crc32c) return damaged_spill(object, footer.offset_bytes, kNoSpill);
  } else {
    HEADRACE_CHECK(read_buckets({&read, 1}, options));
  }
  Result<RowsFooter> parsed = RowsFooter::parse(read.data, footer.offset_bytes);
  if (!parsed) {
    return damaged_spill(object, footer.offset_bytes,
                         concat("its footer contradicts itself: ", parsed.error().message));
  }
  return parsed;
}

}  // namespace

Result<std::optional<OrderedRow>> RowRange::next() {
  HEADRACE_TRY(const bool found, cursor_.next());
  if (!found) return std::optional<OrderedRow>();
  HEADRACE_CHECK(cursor_.read_cells(cells_));
  const EncodedRow& row = cursor_.row();
  return std::optional<OrderedRow>({row.order, row.tie, row.id, row.place, cells_});
}

Result<RowsReader> RowsReader::open(std::unique_ptr<SpillObject> object, const CallOptions& options) {
  if (object->size_bytes < kRowsHeader.size() + kRowsTrailerBytes) return damaged_spill(*object, 0, kNoSpill);
  Result<RowsFooter> footer = read_footer(*object, options);
  // A second read does not repeat damage that occurred in transfer.
  if (!footer && footer.error().code == Code::kDataLoss && object->store != nullptr)
    footer = read_footer(*object, options);
  if (!footer) return std::move(footer).error();
  RowsReader reader;
  reader.object_ = std::move(object);
  reader.footer_ = *std::move(footer);
  return reader;
}

Result<RowsReader> RowsReader::open(BytesView object, std::string name) {
  auto spill = std::make_unique<SpillObject>();
  spill->name = std::move(name);
  spill->memory = object;
  spill->size_bytes = object.size();
  if (!as_text(object).starts_with(kRowsHeader))
    return damaged_spill(*spill, 0, "not the beginning of a spill of rows");
  return open(std::move(spill), {});
}

Result<RowsReader> RowsReader::open(Bytes object, std::string name) {
  HEADRACE_TRY(RowsReader reader, open(BytesView(object), std::move(name)));
  reader.owned_ = std::move(object);  // moving it does not move its bytes
  return reader;
}

Result<RowsReader> RowsReader::open(const Location& location, const Version& version,
                                    std::uint64_t size_bytes, const CallOptions& options) {
  auto spill = std::make_unique<SpillObject>();
  spill->name = location.describe();
  spill->store = location.store;
  spill->key = location.key;
  if (!version.token.empty()) spill->version = version;
  spill->size_bytes = size_bytes;
  return open(std::move(spill), options);
}

Result<std::vector<ContentHash>> RowsReader::content_hashes(const CallOptions& options) const {
  const Bucket& hashes = footer_.hashes;
  BucketRead read{.object = object_.get(),
                  .buckets = {&hashes, 1},
                  .end_bytes = hashes.offset_bytes + hashes.rows * kContentHashBytes};
  HEADRACE_CHECK(read_buckets({&read, 1}, options));
  std::vector<ContentHash> out;
  out.reserve(hashes.rows);
  for (const std::byte* at = read.data.data(); out.size() < hashes.rows; at += kContentHashBytes) {
    out.push_back({{load_little_endian<std::uint64_t>(at), load_little_endian<std::uint64_t>(at + 8)},
                   {load_little_endian<std::uint32_t>(at + 16), load_little_endian<std::uint64_t>(at + 20)},
                   load_little_endian<std::uint32_t>(at + 28)});
    if (out.size() > 1 && out.back() < out[out.size() - 2])
      return damaged_spill(*object_, hashes.offset_bytes, "hashes that do not ascend");
    if (out.back().split >= splits().size())
      return damaged_spill(*object_, hashes.offset_bytes, "a hash of no split");
  }
  return out;
}

const BucketTable* RowsReader::find_table(std::string_view split) const {
  const auto found = std::lower_bound(footer_.splits.begin(), footer_.splits.end(), split,
                                      [](const RowsSplit& a, std::string_view b) { return a.name < b; });
  if (found == footer_.splits.end() || found->name != split) return nullptr;
  return &footer_.tables[static_cast<std::size_t>(found - footer_.splits.begin())];
}

Result<RowRange> RowsReader::read(std::string_view split, OrderRange range,
                                  const CallOptions& options) const {
  RowRange out;
  const BucketTable* const table = find_table(split);
  if (table == nullptr || range.first > range.last) return out;
  const std::size_t first = table->bucket_of(range.first), end = table->bucket_of(range.last) + 1;
  out.read_ = {.object = object_.get(),
               .buckets = table->buckets().subspan(first, end - first),
               .end_bytes = table->offset_bytes(end)};
  HEADRACE_CHECK(read_buckets({&out.read_, 1}, options));
  out.cursor_ = RowCursor(out.read_, *table, first, range);
  return out;
}

}  // namespace headrace
