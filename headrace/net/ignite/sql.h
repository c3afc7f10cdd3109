#pragma once

/// \file SQL statements: SELECT, whose rows come page by page, and DDL and DML, whose single row says how
/// many rows changed.

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
  /// The schema of names that are given without one. Empty: PUBLIC.
  std::string schema{};
  /// Rows of a page. A page must fit into one message (ConnectionOptions::message_limit_bytes).
  std::int32_t page_rows = 64;
  /// The statement is a SELECT. The node then refuses any other statement. If the connection is lost, the
  /// statement is sent again, unless a page was already returned.
  bool is_select = false;
  /// The statement is idempotent, as MERGE is. If the connection is lost, the statement is sent again.
  bool is_repeatable = false;
  /// The node's time limit for the statement. 0: no limit.
  std::chrono::milliseconds timeout{0};
};

/// The largest number of columns of a result, which is far more than statements have. It limits memory: a
/// name takes 1 byte or more in a message, but 32 bytes here.
inline constexpr std::size_t kSqlColumnLimit = 16'384;

/// Rows inside the response that contains them. They are taken one after another, so that a page takes no
/// memory in addition to its bytes. Not thread-safe.
class SqlPage {
 public:
  /// Checks all rows of the page that begins at the cursor, and moves the cursor past them. `cursor` reads
  /// the body of `response`.
  /// \error kDataLoss  the bytes are not such a page
  static Result<SqlPage> read(Response response, ObjectCursor& cursor, std::size_t columns);

  std::size_t row_count() const { return row_count_; }
  /// Puts the encoded objects of the next row into `row`, one for each column. They view the page, which must
  /// outlive them. Returns false, and does not change `row`, if all rows were taken.
  bool next(std::vector<BytesView>& row);
  /// The response that contains the rows. Afterwards no more rows can be taken.
  Response take_response();

 private:
  Response response_{};
  std::size_t position_ = 0;  // position of the next row in the body
  std::size_t row_count_ = 0;
  std::size_t taken_ = 0;
  std::size_t columns_ = 0;
};

/// Not thread-safe.
class SqlResult {
 public:
  /// Runs the statement, and waits for its first page.
  /// \error kInvalidArgument    `page_rows` is less than 1
  /// \error kUnknown            the node refuses the statement, and the message contains its words; or the
  ///                            connection was lost, so that it is unknown whether the statement was carried
  ///                            out
  /// \error kResourceExhausted  the result has more than kSqlColumnLimit columns
  /// \error                     as for Cluster::call
  static Result<std::unique_ptr<SqlResult>> run(std::shared_ptr<Cluster> cluster, const SqlQuery& query,
                                                const std::stop_token& stop = {});
  /// Closes the cursor.
  ~SqlResult();

  const std::vector<std::string>& columns() const { return columns_; }
  /// The next page, which is never empty. None: all rows were returned.
  /// \error kUnavailable  the node was lost: run the query again
  /// \error               as for Connection::receive
  Result<std::optional<SqlPage>> next_page(const std::stop_token& stop = {});

 private:
  explicit SqlResult(std::shared_ptr<Cluster> cluster) : cluster_(std::move(cluster)) {}
  Status read_head(const Response& response, ObjectCursor& cursor);
  Result<SqlPage> read_page(Response response, ObjectCursor& cursor);

  const std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<Connection> connection_{};
  std::optional<std::int64_t> cursor_{};  // none: all pages have arrived
  std::vector<std::string> columns_{};
  std::optional<SqlPage> first_{};
};

}  // namespace headrace::ignite
