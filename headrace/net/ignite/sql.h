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
  /// The node's own limit; 0: none.
  std::chrono::milliseconds timeout{0};
};

/// Rows inside the response that brought them; each has an object for each column.
struct SqlPage {
  Response response;
  std::vector<std::vector<BytesView>> rows;
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
  Status read_head(Response& response, ObjectCursor& cursor);
  Result<SqlPage> read_page(Response response, ObjectCursor& cursor);

  const std::shared_ptr<Cluster> cluster_;
  std::shared_ptr<Connection> connection_{};
  std::optional<std::int64_t> cursor_{};  // none: all pages came
  std::vector<std::string> columns_{};
  std::optional<SqlPage> first_{};
};

}  // namespace headrace::ignite
