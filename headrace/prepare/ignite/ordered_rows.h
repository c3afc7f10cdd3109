#pragma once

/// \file The rows of a SELECT in a total order, even if a node is lost: docs/decisions/ignite-sql.md.

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/net/ignite/sql.h"

namespace headrace {

/// Encoded objects: a value for each column of a key.
using IgniteKey = std::vector<Bytes>;

struct OrderedQuery {
  std::string statement{};  // a SELECT without order
  std::string schema{};
  /// Columns whose values together are unique; empty: rows are ordered by all their columns.
  std::vector<std::string> order{};
  std::size_t columns = 0;  // of a row
  IgniteKey after{};        // only rows after this key; empty: from the first row
  IgniteKey last{};         // only rows up to this key; empty: to the last row
  std::int32_t page_rows = 64;
};

/// The SQL statement that is sent for the query.
ignite::SqlQuery ordered_statement(const OrderedQuery& query);

/// Reads the rows of a query. Not thread-safe. Memory: a page, and a key.
class OrderedRows {
 public:
  OrderedRows(std::shared_ptr<ignite::Cluster> cluster, OrderedQuery query)
      : cluster_(std::move(cluster)), query_(std::move(query)) {}

  /// The encoded objects of the next row, valid until the next call; null at the end. If a connection is
  /// lost, continues after the rows that were returned.
  /// \error kFailedPrecondition  the statement has other columns than the query says
  /// \error as SqlResult::run
  Result<const std::vector<BytesView>*> next(const std::stop_token& stop);

  /// The names of the columns. REQUIRES: `next` has succeeded
  const std::vector<std::string>& columns() const { return result_->columns(); }
  /// The positions of the key's columns in a row. REQUIRES: `next` has succeeded
  const std::vector<std::size_t>& key_columns() const { return key_columns_; }

 private:
  Status run(const std::stop_token& stop);
  Status find_key_columns();
  Status next_page(const std::stop_token& stop);
  void remember_key();

  const std::shared_ptr<ignite::Cluster> cluster_;
  OrderedQuery query_;  // `after` advances with the rows, if there is a key
  std::unique_ptr<ignite::SqlResult> result_{};
  std::optional<ignite::SqlPage> page_{};
  std::vector<std::size_t> key_columns_{};
  std::vector<BytesView> row_{};
  std::uint64_t given_ = 0;  // rows that were returned
  std::uint64_t skip_ = 0;   // rows that were returned before the connection was lost
  int losses_ = 0;           // of the connection, since the last page
};

}  // namespace headrace
