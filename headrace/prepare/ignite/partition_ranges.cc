#include "headrace/prepare/ignite/partition_ranges.h"

#include <map>
#include <optional>
#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/object_cursor.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/prepare/ignite/ignite_rows.h"

namespace headrace {
namespace {

// Ignite's own limit.
constexpr std::int32_t kPartitionsLimit = 65'000;

// The type of a key. All classes of objects and enums share a type code, and differ by the type id.
struct KeyType {
  ignite::TypeCode code{};
  std::int32_t type_id = 0;
  bool operator==(const KeyType&) const = default;

  std::string text() const {
    const int number = static_cast<int>(code);
    return type_id == 0 ? concat(number) : concat(number, " of the type id ", type_id);
  }
};

std::int32_t type_id_at(ignite::ObjectCursor cursor, std::size_t bytes_before_name) {
  std::int32_t id = 0;
  std::string_view name;
  const bool is_unregistered = cursor.read(id) && id == ignite::kUnregisteredType;
  return is_unregistered && cursor.skip(bytes_before_name) && cursor.take_name(name) ? ignite::name_id(name)
                                                                                     : id;
}

// Returns the object inside a wrapped object. Returns the object itself if it is not wrapped, or if it is
// damaged, which its decoder then reports.
BytesView unwrapped(BytesView object) {
  ignite::ObjectCursor cursor(object);
  ignite::TypeCode code{};
  BytesView inner;
  std::uint32_t offset = 0;
  const bool is_wrapped = cursor.read(code) && code == ignite::TypeCode::kWrapped &&
                          cursor.take_counted(inner) && cursor.read(offset) && offset < inner.size();
  return is_wrapped ? inner.subspan(offset) : object;
}

KeyType type_of_key(BytesView key) {
  key = unwrapped(key);
  const auto code = static_cast<ignite::TypeCode>(key.front());
  if (code == ignite::TypeCode::kComplex) {
    constexpr std::size_t kBeforeName = ignite::kHeaderBytes - ignite::kHashCodeOffset;
    return {code, type_id_at(ignite::ObjectCursor(key, ignite::kTypeIdOffset), kBeforeName)};
  }
  if (code == ignite::TypeCode::kEnum || code == ignite::TypeCode::kBinaryEnum)
    return {code, type_id_at(ignite::ObjectCursor(key, 1), 0)};
  return {code};
}

// Checks that all keys have one type, since the ids of rows are the keys without their types.
class KeyTypes {
 public:
  Status add(BytesView key) {
    const KeyType type = type_of_key(key);
    if (!type_) type_ = type;
    if (*type_ == type) return {};
    return Error{
        Code::kInvalidArgument,
        concat("the cache has keys of several types (Ignite's types ", type_->text(), " and ", type.text(),
               "), so a key does not name a row; select the rows of one type with ignite-sql://")};
  }

 private:
  std::optional<KeyType> type_;
};

std::vector<PartitionRange> cut(std::map<std::int32_t, RowsDigest> partitions, std::uint64_t range_bytes) {
  std::vector<PartitionRange> ranges;
  PartitionsDigest digest;
  bool is_open = false;
  for (auto& [partition, rows] : partitions) {
    if (rows.rows() == 0) continue;
    if (!is_open) ranges.push_back({.first = partition});
    is_open = true;
    PartitionRange& range = ranges.back();
    range.last = partition;
    range.rows += rows.rows();
    range.size_bytes += rows.size_bytes();
    digest.add(partition, rows.rows(), rows.finish());
    if (range.size_bytes < range_bytes) continue;
    range.digest = std::exchange(digest, {}).finish();
    is_open = false;
  }
  if (is_open) ranges.back().digest = digest.finish();
  return ranges;
}

}  // namespace

void PartitionsDigest::add(std::int32_t partition, std::uint64_t rows, std::string_view digest) {
  digest_.update(as_bytes(concat(partition, " ", rows, " ", digest, "\n")));
}

Result<std::vector<PartitionRange>> list_partitions(const ignite::Cache& cache, std::uint64_t range_bytes,
                                                    const std::stop_token& stop) {
  HEADRACE_TRY(const std::unique_ptr<ignite::Scan> scan, ignite::Scan::open(cache, {}, stop));
  std::map<std::int32_t, RowsDigest> partitions;
  KeyTypes keys;
  std::vector<BytesView> row(2);
  while (true) {
    HEADRACE_TRY(const std::optional<ignite::Page> page, scan->next_page(stop));
    if (!page) break;
    RowsDigest& rows = partitions[page->partition];
    for (const ignite::Entry& entry : page->rows) {
      HEADRACE_CHECK(keys.add(entry.key));
      row = {entry.key, entry.value};
      rows.add(row);
    }
  }
  std::vector<PartitionRange> ranges = cut(std::move(partitions), range_bytes);
  if (ranges.empty())
    return Error{Code::kNotFound,
                 concat("the cache \"", printable_line(cache.name(), 200), "\" has no rows")};
  return ranges;
}

std::string partitions_to_json(const PartitionRange& range) {
  return Json{{"first", range.first}, {"last", range.last}, {"rows", range.rows}}.dump();
}

Result<PartitionRange> parse_partition_range(std::string_view json) {
  return read_json(
      json, "the place of a slice is damaged", [](const Json& document) -> Result<PartitionRange> {
        const PartitionRange range{.first = document.get<std::int32_t>("first"),
                                   .last = document.get<std::int32_t>("last"),
                                   .rows = document.get<std::uint64_t>("rows")};
        const bool is_whole = range.first == -1 && range.last == -1;
        if (!is_whole && (range.first < 0 || range.first > range.last || range.last >= kPartitionsLimit))
          return Error{Code::kDataLoss, "first and last are out of their range"};
        return range;
      });
}

}  // namespace headrace
