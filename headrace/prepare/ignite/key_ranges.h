#pragma once

/// \file Lists the rows of a statement as ranges: docs/decisions/ignite-sql.md.

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/prepare/ignite/ordered_rows.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {

/// The query for all rows that the URL names: its columns, its order, and the rows of a page. Runs the
/// statement for its first rows.
/// \error kNotFound         there is no such table
/// \error kInvalidArgument  `order_by` names a column that the rows do not have; or the table's key is not
///                          among its columns
/// \error as SqlResult::run
Result<OrderedQuery> find_query(const std::shared_ptr<ignite::Cluster>& cluster, const IgniteQueryUrl& url,
                                const std::stop_token& stop);

/// The number of rows in a page: what the URL says, or about 4 MiB if `rows` rows have `size_bytes`.
std::int32_t page_rows_for(const IgniteQueryUrl& url, std::uint64_t rows, std::uint64_t size_bytes);

struct KeyRange {
  IgniteKey after{};  // empty: from the first row on
  IgniteKey last{};   // empty: to the last row
  std::uint64_t rows = 0;
  std::uint64_t size_bytes = 0;
  std::string digest{};  // RowsDigest
};

/// Reads all rows once, and cuts them into ranges of at least `range_bytes`; the last may be smaller. Without
/// a key, there is one range. Memory: a page, and the ranges.
/// \error kInvalidArgument  a key is null, or two rows have the same key
/// \error kNotFound         there are no rows
/// \error as OrderedRows::next
Result<std::vector<KeyRange>> list_ranges(const std::shared_ptr<ignite::Cluster>& cluster,
                                          const OrderedQuery& query, std::uint64_t range_bytes,
                                          const std::stop_token& stop);

/// Writes a range as the `place` of a slice. Format: docs/formats/ignite-input.md.
std::string range_to_json(const KeyRange& range, const OrderedQuery& query);
struct PlacedRange {
  OrderedQuery query{};  // without statement, schema and page_rows
  std::uint64_t rows = 0;
};
/// Parses the result of range_to_json. \error kDataLoss  it has another form
Result<PlacedRange> parse_range(std::string_view json);

}  // namespace headrace
