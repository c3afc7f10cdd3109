#pragma once

/// \file SQL statements: rows of a SELECT, page by page; DDL and DML, whose one row says how many rows
/// changed.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/net/ignite/cluster.h"

namespace headrace::ignite {

struct SqlQuery {
  std::string text{};
  /// An encoded object for each "?".
  std::vector<Bytes> arguments{};
  /// Where names without a schema are looked for; empty: PUBLIC.
  std::string schema{};
  /// A page of so many rows must fit into one message (ConnectionOptions::message_limit_bytes).
  std::int32_t page_rows = 64;
  /// Says that the statement is a SELECT; any other is then refused, and a lost connection lets it be sent
  /// again, as long as no row was given.
  bool is_select = false;
  /// Says that carrying the statement out twice is as good as once, as with MERGE: a lost connection lets it
  /// be sent again.
  bool is_repeatable = false;
  /// The node's own limit; 0: none.
  std::chrono::milliseconds timeout{0};
};

/// The most columns of a result: far more than statements have. A name may take 32 bytes here for one in a
/// message.
inline constexpr std::size_t kSqlColumnLimit = 16'384;

/// Rows inside the response that brought them, taken one after another: a page takes no memory besides its
/// bytes, whatever they are.
class SqlPage {
 public:
  /// Checks all rows of a page that begins at the cursor, and moves the cursor behind them.
  /// \error kDataLoss  the bytes are no such page
  static Result<SqlPage> read(Response response, ObjectCursor& cursor, std::size_t columns);

  std::size_t row_count() const { return row_count_; }
  /// Puts the objects of the next row, one for each column, into `row`; they lie in the page, which must
  /// outlive them. False: all rows were taken, and `row` is as it was.
  bool next(std::vector<BytesView>& row);
  /// The bytes that the rows lie in; no row can be taken after it.
  Response take_response();

 private:
  Response response_{};
  std::size_t position_ = 0;  // of the next row in the body
  std::size_t row_count_ = 0;
  std::size_t taken_ = 0;
  std::size_t columns_ = 0;
};

/// Not thread-safe.
class SqlResult {
 public:
  /// Runs the statement and waits for its first page.
  /// \error kInvalidArgument  `page_rows` is less than 1
  /// \error kUnknown  the node refuses the statement, in its words; or the connection was lost, so that
  ///                  nobody knows if it was carried out. Otherwise as Cluster::call.
  static Result<std::unique_ptr<SqlResult>> run(std::shared_ptr<Cluster> cluster, const SqlQuery& query,
                                                const std::stop_token& stop = {});
  /// Closes the cursor.
  ~SqlResult();

  const std::vector<std::string>& columns() const { return columns_; }
  /// The next page, never empty; none: all rows were given.
  /// \error kUnavailable  the node was lost: run the query again; otherwise as Connection::receive
  Result<std::optional<SqlPage>> next_page(const std::stop_token& stop = {});

 private:
  explicit SqlResult(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}
  Status read_head(const Response& response, ObjectCursor& cursor);
  Result<SqlPage> read_page(Response response, ObjectCursor& cursor);

  const std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<Connection> connection_{};
  std::optional<std::int64_t> cursor_{};  // none: all pages came
  std::vector<std::string> columns_{};
  std::optional<SqlPage> first_{};
};

}  // namespace headrace::ignite
