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
/// \error kNotFound         no such table
/// \error kInvalidArgument  `order_by` names a column that the rows do not have; or the table's key is not
///                          among its columns
/// \error as SqlResult::run
Result<OrderedQuery> find_query(const std::shared_ptr<ignite::Cluster>& cluster, const IgniteQueryUrl& url,
                                const std::stop_token& stop);

/// Rows of a page, as many as make about 4 MiB where so many rows have so many bytes; or as the URL says.
std::int32_t page_rows_for(const IgniteQueryUrl& url, std::uint64_t rows, std::uint64_t size_bytes);

struct KeyRange {
  IgniteKey after{};  // empty: from the first row on
  IgniteKey last{};   // empty: to the last row
  std::uint64_t rows = 0;
  std::uint64_t size_bytes = 0;
  std::string digest{};  // RowsDigest
};

/// Reads all rows once, and cuts them into ranges of at least `range_bytes`, but for the last; one range if
/// there is no key. Memory: a page, and the ranges.
/// \error kInvalidArgument  a key is null, or two rows have the same
/// \error kNotFound         there are no rows
/// \error as OrderedRows::next
Result<std::vector<KeyRange>> list_ranges(const std::shared_ptr<ignite::Cluster>& cluster,
                                          const OrderedQuery& query, std::uint64_t range_bytes,
                                          const std::stop_token& stop);

/// The range as `place` of a slice, and back. docs/formats/ignite-input.md has the format.
std::string range_to_json(const KeyRange& range, const OrderedQuery& query);
struct PlacedRange {
  OrderedQuery query{};  // without statement, schema and the rows of a page
  std::uint64_t rows = 0;
};
/// \error kDataLoss  it is not that
Result<PlacedRange> parse_range(std::string_view json);

}  // namespace headrace
