#include "headrace/run_index/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/track/search_filter.h"

namespace headrace {
namespace {

constexpr int kBusyMs = 2000;
constexpr std::size_t kStatements = 64;  // prepared statements that are kept

std::string_view text_of(sqlite3_value* value) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// matches_like(text, pattern, ignores_case), by the rules of MLflow's filters. SQLite's own LIKE differs.
void like_in_sql(sqlite3_context* context, int, sqlite3_value** arguments) {
  const bool matches =
      matches_like(text_of(arguments[0]), text_of(arguments[1]), sqlite3_value_int(arguments[2]) != 0);
  sqlite3_result_int(context, matches ? 1 : 0);
}

// A file is damaged only if it does not hold what was written. Any other failure, such as an impossible
// statement, would occur again with a new file.
DatabaseFailure failure_of(int code) {
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) return DatabaseFailure::kBusy;
  const bool is_damaged =
      code == SQLITE_IOERR_SHORT_READ || (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
  return is_damaged ? DatabaseFailure::kDamaged : DatabaseFailure::kUnusable;
}

int bind_value(sqlite3_stmt* statement, int at, const SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, at, *integer);
  if (const auto* number = std::get_if<double>(&value)) return sqlite3_bind_double(statement, at, *number);
  if (const auto* text = std::get_if<std::string>(&value))
    return sqlite3_bind_text64(statement, at, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  return sqlite3_bind_null(statement, at);
}

SqlValue column_value(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return {};
    default:
      return std::string(SqlRow(statement).text(column));
  }
}

}  // namespace

const std::string& text_value(const SqlValue& value) {
  static const std::string kNone;
  const auto* const text = std::get_if<std::string>(&value);
  return text ? *text : kNone;
}

std::int64_t integer_value(const SqlValue& value) {
  const auto* const integer = std::get_if<std::int64_t>(&value);
  return integer ? *integer : 0;
}

Sql& Sql::add(std::string_view part, std::vector<SqlValue> of_part) {
  text += part;
  std::move(of_part.begin(), of_part.end(), std::back_inserter(values));
  return *this;
}

Database::Database(Database&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)),
      statements_(std::exchange(other.statements_, {})),
      written_before_(other.written_before_),
      failure_(other.failure_) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(statements_, other.statements_);
  std::swap(written_before_, other.written_before_);
  std::swap(failure_, other.failure_);
  return *this;
}

Database::~Database() {
  for (const Cached& cached : statements_) sqlite3_finalize(cached.statement);
  sqlite3_close(connection_);  // rolls back an open transaction
}

Result<Database> Database::open(const std::string& path, std::string_view schema, std::int64_t version,
                                DatabaseFailure& failure) {
  Database database;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                    SQLITE_OPEN_EXRESCODE;
  const int opened =
      sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &database.connection_, flags, nullptr);
  Status status = opened == SQLITE_OK ? database.set_up(schema, version) : database.error_of(opened);
  failure = database.failure_;
  if (!status) return std::move(status).error().in(path);
  return database;
}

Result<Database> Database::open_copy(const std::string& path, std::string_view schema, std::int64_t version,
                                     DatabaseFailure& failure) {
  Database database;
  const int opened =
      sqlite3_open_v2(":memory:", &database.connection_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Status status = opened == SQLITE_OK ? database.copy_from(path) : database.error_of(opened);
  if (status) status = database.set_up(schema, version);
  failure = database.failure_;
  if (!status) return std::move(status).error().in(path);
  return database;
}

Status Database::copy_from(const std::string& path) {
  sqlite3* file = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  int code = sqlite3_open_v2(path.c_str(), &file, flags, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_busy_timeout(file, kBusyMs);
    sqlite3_backup* const backup = sqlite3_backup_init(connection_, "main", file, "main");
    if (backup != nullptr) sqlite3_backup_step(backup, -1);
    code = backup != nullptr ? sqlite3_backup_finish(backup) : sqlite3_extended_errcode(connection_);
  }
  sqlite3_close(file);
  return code == SQLITE_OK ? Status{} : error_of(code);
}

Status Database::set_up(std::string_view schema, std::int64_t version) {
  sqlite3_busy_timeout(connection_, kBusyMs);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  const int made =
      sqlite3_create_function_v2(connection_, "matches_like", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                 like_in_sql, nullptr, nullptr, nullptr);
  if (made != SQLITE_OK) return error_of(made);
  HEADRACE_CHECK(
      execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = 1;"
              "PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY"));
  HEADRACE_TRY(std::int64_t found, user_version());
  if (found == 0) {
    HEADRACE_CHECK(begin());
    HEADRACE_TRY(found, user_version());  // another process may have been faster
    if (found == 0) {
      HEADRACE_CHECK(execute(concat(schema, "; PRAGMA user_version = ", version)));
      found = version;
    }
    HEADRACE_CHECK(commit());
  }
  if (found == version) return {};
  return damaged(concat("its layout has version ", found, " instead of ", version));
}

Status Database::execute(const std::string& script) {
  const int code = sqlite3_exec(connection_, script.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status{} : error_of(code);
}

Result<std::int64_t> Database::user_version() {
  HEADRACE_TRY(const auto found, rows({"PRAGMA user_version"}));
  const auto* const version = found.empty() ? nullptr : std::get_if<std::int64_t>(&found[0][0]);
  if (version == nullptr) return damaged("it has no version");
  return *version;
}

Error Database::error_of(int code) {
  if (failure_ == DatabaseFailure::kNone) failure_ = failure_of(code);
  return {Code::kFailedPrecondition, connection_ ? sqlite3_errmsg(connection_) : sqlite3_errstr(code)};
}

Error Database::damaged(std::string_view why) {
  failure_ = DatabaseFailure::kDamaged;
  return {Code::kFailedPrecondition, std::string(why)};
}

Status Database::begin() {
  if (sqlite3_get_autocommit(connection_) == 0) HEADRACE_CHECK(execute("ROLLBACK"));
  written_before_ = sqlite3_total_changes64(connection_);
  return execute("BEGIN IMMEDIATE");
}

Status Database::begin_reading() {
  if (sqlite3_get_autocommit(connection_) == 0) HEADRACE_CHECK(execute("ROLLBACK"));
  return execute("BEGIN DEFERRED");
}

std::int64_t Database::rows_written() const { return sqlite3_total_changes64(connection_) - written_before_; }

Status Database::commit() { return execute("COMMIT"); }

Result<sqlite3_stmt*> Database::prepare(const Sql& sql) {
  auto cached = std::ranges::find(statements_, sql.text, &Cached::text);
  if (cached == statements_.end()) {
    if (statements_.size() == kStatements) {
      sqlite3_finalize(statements_.front().statement);
      statements_.erase(statements_.begin());
    }
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(connection_, sql.text.c_str(), static_cast<int>(sql.text.size()) + 1,
                                        &statement, nullptr);
    if (code != SQLITE_OK) return error_of(code);
    statements_.push_back({sql.text, statement});
    cached = std::prev(statements_.end());
  }
  for (std::size_t i = 0; i < sql.values.size(); ++i) {
    const int code = bind_value(cached->statement, static_cast<int>(i) + 1, sql.values[i]);
    if (code != SQLITE_OK) return error_of(code);
  }
  return cached->statement;
}

Status Database::check(const Sql& sql) {
  HEADRACE_TRY(sqlite3_stmt* const statement, prepare(sql));
  sqlite3_clear_bindings(statement);
  return {};
}

Status Database::run(const Sql& sql) {
  return visit(sql, [](const SqlRow&) {});
}

Status Database::visit(const Sql& sql, const std::function<void(const SqlRow&)>& visit) {
  HEADRACE_TRY(sqlite3_stmt* const statement, prepare(sql));
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) visit(SqlRow(statement));
  Status status = code == SQLITE_DONE ? Status{} : error_of(code);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return status;
}

Result<std::vector<std::vector<SqlValue>>> Database::rows(const Sql& sql) {
  HEADRACE_TRY(sqlite3_stmt* const statement, prepare(sql));
  std::vector<std::vector<SqlValue>> all;
  HEADRACE_CHECK(visit(sql, [&](const SqlRow&) {
    std::vector<SqlValue>& row = all.emplace_back();
    const int columns = sqlite3_column_count(statement);
    row.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i) row.push_back(column_value(statement, i));
  }));
  return all;
}

bool SqlRow::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t SqlRow::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double SqlRow::number(int column) const { return sqlite3_column_double(statement_, column); }

std::string_view SqlRow::text(int column) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace headrace
