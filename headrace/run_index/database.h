#pragma once

/// \file A SQLite database that may fail at any time without harm: its content can be made again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace headrace {

/// Why a database cannot be used any more.
enum class DatabaseFailure : std::uint8_t {
  kNone,
  kDamaged,   // its file is not what it should be: delete it
  kBusy,      // another process holds its lock for too long; it may be read
  kUnusable,  // a full disk, no permission, a statement that is not possible
};

/// A value of a column, or one that is bound. A double that is NaN is null.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;
/// Empty, and 0, if the value is of another kind.
const std::string& text_value(const SqlValue& value);
std::int64_t integer_value(const SqlValue& value);

/// A row that is being visited. Texts are valid until the visit ends.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool is_null(int column) const;
  std::int64_t integer(int column) const;   // 0 if it is null
  double number(int column) const;          // 0 if it is null
  std::string_view text(int column) const;  // empty if it is null

 private:
  sqlite3_stmt* statement_;
};

/// SQL with values for its question marks, in their order.
struct Sql {
  std::string text;
  std::vector<SqlValue> values{};

  /// Appends a part with its values.
  Sql& add(std::string_view part, std::vector<SqlValue> of_part = {});
};

/// A connection. Not thread-safe. Movable.
class Database {
 public:
  /// `path`: a file, which is made if it is missing; empty: in memory. `schema` makes the tables of a new
  /// file; `version` (user_version) tells files of another schema. Waits up to two seconds for other
  /// processes' locks, here and in every other function.
  /// \error kFailedPrecondition  `failure` says which; also for a file of another version (kDamaged)
  static Result<Database> open(const std::string& path, std::string_view schema, std::int64_t version,
                               DatabaseFailure& failure);
  /// A copy in memory of the file at `path`, as of its last transaction, whoever holds its lock.
  static Result<Database> open_copy(const std::string& path, std::string_view schema, std::int64_t version,
                                    DatabaseFailure& failure);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  /// The failure of the first call that failed; errors of all others are the callers'.
  DatabaseFailure failure() const { return failure_; }
  /// From now on, the file counts as damaged: what was read from it is not what was written.
  Error damaged(std::string_view why);

  /// Begins a transaction that writes. One that is not committed is rolled back by the next `begin`, or when
  /// the connection is closed.
  Status begin();
  /// Begins a transaction that only reads: until `commit`, all statements see what the first of them saw.
  Status begin_reading();
  Status commit();
  /// Rows that were written since `begin`.
  std::int64_t rows_written() const;
  /// Whether a statement is possible: prepares it, and does not run it.
  Status check(const Sql& sql);
  /// Statements are prepared once for each text.
  Status run(const Sql& sql);
  /// Calls `visit` for each row. `visit` must not use the database.
  Status visit(const Sql& sql, const std::function<void(const SqlRow&)>& visit);
  /// All rows. REQUIRES: few enough to be kept in memory
  Result<std::vector<std::vector<SqlValue>>> rows(const Sql& sql);

 private:
  struct Cached {
    std::string text;
    sqlite3_stmt* statement;
  };

  Database() = default;
  Result<sqlite3_stmt*> prepare(const Sql& sql);
  Status copy_from(const std::string& path);
  Status set_up(std::string_view schema, std::int64_t version);
  Status execute(const std::string& script);
  Result<std::int64_t> user_version();
  Error error_of(int code);

  sqlite3* connection_ = nullptr;
  std::vector<Cached> statements_;
  std::int64_t written_before_ = 0;
  DatabaseFailure failure_ = DatabaseFailure::kNone;
};

}  // namespace headrace
