#pragma once

/// \file A SQLite database that may fail at any time without harm, because its contents can be made again.

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

/// Why a database can no longer be used.
enum class DatabaseFailure : std::uint8_t {
  kNone,
  kDamaged,   // its file does not hold what was written: delete it
  kBusy,      // another process holds its lock for too long; it can still be copied
  kUnusable,  // a full disk, no permission, or an impossible statement
};

/// A value of a column, or a value to bind. A double that is NaN becomes null.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;
/// The value as a text or an integer; empty or 0 if it has another type. The reference is valid as long as
/// `value`.
const std::string& text_value(const SqlValue& value);
std::int64_t integer_value(const SqlValue& value);

/// A row during a visit. Its texts are valid until the visit ends.
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

/// An SQL statement and the values of its question marks, in their order.
struct Sql {
  std::string text;
  std::vector<SqlValue> values{};

  /// Appends a part and the values of its question marks.
  Sql& add(std::string_view part, std::vector<SqlValue> of_part = {});
};

/// A connection to a database. Not thread-safe. All errors have the code kFailedPrecondition.
class Database {
 public:
  /// Opens a database. Here and in every other function, waits up to two seconds for the locks of other
  /// processes.
  /// \param path     the file, which is created if it is missing; empty: in memory
  /// \param schema   creates the tables of a new file
  /// \param version  of the schema (user_version); a file with another version is kDamaged
  /// \param failure  is set to the reason of an error, else to kNone
  /// \error kFailedPrecondition  `failure` says why
  static Result<Database> open(const std::string& path, std::string_view schema, std::int64_t version,
                               DatabaseFailure& failure);
  /// Copies the file at `path` into memory, as of its last transaction, whichever process holds its lock.
  /// Parameters and errors as in `open`.
  static Result<Database> open_copy(const std::string& path, std::string_view schema, std::int64_t version,
                                    DatabaseFailure& failure);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  /// The reason of the first call that failed, or kDamaged after `damaged`. kNone: no call has failed, so
  /// errors come from elsewhere.
  DatabaseFailure failure() const { return failure_; }
  /// Marks the file as damaged, because it does not hold what was written. Returns the error to report.
  Error damaged(std::string_view why);

  /// Begins a transaction that writes, and rolls back a transaction that was not committed. Closing the
  /// connection rolls back, too.
  Status begin();
  /// Begins a transaction that only reads: until `commit`, all statements see the state that the first one
  /// saw.
  Status begin_reading();
  Status commit();
  /// Number of rows that were written since `begin`.
  std::int64_t rows_written() const;
  /// Prepares a statement without running it. \error kFailedPrecondition  it is impossible
  Status check(const Sql& sql);
  /// Runs a statement and ignores its rows. The last 64 prepared statements are kept, by text.
  Status run(const Sql& sql);
  /// Calls `visit` for each row of the result. `visit` must not use the database.
  Status visit(const Sql& sql, const std::function<void(const SqlRow&)>& visit);
  /// All rows of the result. REQUIRES: they fit in memory
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
