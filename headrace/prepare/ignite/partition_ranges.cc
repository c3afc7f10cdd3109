#include "headrace/prepare/ignite/partition_ranges.h"

#include <map>
#include <optional>
#include <utility>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/scan.h"
#include "headrace/prepare/ignite/ignite_rows.h"

namespace headrace {
namespace {

// Ignite's own limit.
constexpr std::int32_t kPartitionsLimit = 65'000;

// The ids of rows are the keys without their types.
class KeyType {
 public:
  Status add(BytesView key) {
    const auto code = static_cast<int>(key.front());
    if (!code_) code_ = code;
    if (*code_ == code) return {};
    return Error{Code::kInvalidArgument,
                 concat("the cache has keys of several types (Ignite's types ", *code_, " and ", code,
                        "), so a key does not name a row; select the rows of one type with ignite-sql://")};
  }

 private:
  std::optional<int> code_;
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
  KeyType keys;
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
