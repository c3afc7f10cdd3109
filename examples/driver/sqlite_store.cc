#include "sqlite_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Versions count up and are never given twice; keys as blobs are ordered by their bytes.
constexpr const char* kSetUp =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    "CREATE TABLE IF NOT EXISTS objects (version INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE,"
    " size INTEGER NOT NULL, modified INTEGER NOT NULL, data BLOB NOT NULL)";
constexpr int kListedAtOnce = 256;
constexpr std::chrono::milliseconds kPoll{10};  // between looks at the lock and the stop token

Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
      return Code::kResourceExhausted;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Code::kPermissionDenied;
    default:
      return Code::kUnavailable;
  }
}

Error database_error(sqlite3* database) {
  return {code_of(sqlite3_errcode(database)), concat("SQLite: ", sqlite3_errmsg(database))};
}

// One statement, run once. The database outlives it.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) : database_(database) {
    sqlite3_prepare_v2(database, text, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::string_view text) { return bind(as_bytes(text)); }
  Statement& bind(BytesView data) {  // borrowed until it has been run
    const void* from = data.empty() ? static_cast<const void*>("") : data.data();
    is_bound_ &= sqlite3_bind_blob64(statement_, ++bound_, from, data.size(), SQLITE_STATIC) == SQLITE_OK;
    return *this;
  }
  Statement& bind(std::int64_t number) {
    is_bound_ &= sqlite3_bind_int64(statement_, ++bound_, number) == SQLITE_OK;
    return *this;
  }
  // True: there is a row.
  Result<bool> step() {
    const int outcome = is_bound_ ? sqlite3_step(statement_) : SQLITE_ERROR;
    if (outcome == SQLITE_ROW) return true;
    if (outcome == SQLITE_DONE) return false;
    return database_error(database_);
  }
  Status run() {
    HEADRACE_CHECK(step());
    return {};
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  BytesView data(int column) const {
    const void* from = sqlite3_column_blob(statement_, column);
    return {static_cast<const std::byte*>(from),
            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3* const database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  bool is_bound_ = true;
};

// Undone unless it is committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* database) : database_(database) {}
  ~Transaction() {
    if (is_open_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Status begin() { return run("BEGIN IMMEDIATE", true); }
  Status commit() { return run("COMMIT", false); }

 private:
  Status run(const char* text, bool opens) {
    if (sqlite3_exec(database_, text, nullptr, nullptr, nullptr) != SQLITE_OK)
      return database_error(database_);
    is_open_ = opens;
    return {};
  }
  sqlite3* const database_;
  bool is_open_ = false;
};

// How long a call may wait for others.
struct Wait {
  std::chrono::steady_clock::time_point end{};
  std::stop_token stop{};
  bool is_over() const { return stop.stop_requested() || std::chrono::steady_clock::now() >= end; }
};

// SQLite's busy handler: 0 gives up.
int go_on_waiting(void* wait, int) {
  if (static_cast<const Wait*>(wait)->is_over()) return 0;
  std::this_thread::sleep_for(kPoll);
  return 1;
}

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

ObjectInfo info_from(const Statement& row, std::string_view key, int first_column) {
  return {
      .key = std::string(key),
      .size_bytes = static_cast<std::uint64_t>(row.number(first_column + 1)),
      .version = {concat(row.number(first_column))},
      .modified = std::chrono::system_clock::time_point(std::chrono::seconds(row.number(first_column + 2)))};
}

Result<Database> open_database(const std::string& path) {
  sqlite3* opened = nullptr;
  const int outcome = sqlite3_open_v2(
      path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  sqlite3_busy_timeout(opened, 1'000);
  if (outcome != SQLITE_OK || sqlite3_exec(opened, kSetUp, nullptr, nullptr, nullptr) != SQLITE_OK)
    return database_error(opened).in(concat("opening ", path));
  return database;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(std::string path, std::string name, std::chrono::milliseconds busy_timeout)
      : path_(std::move(path)), name_(std::move(name)), busy_timeout_(busy_timeout) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_TRY(const Lock call, begin(options.call));
    if (!database_) return missing(key);
    Statement row(database_.get(),
                  "SELECT version, size, modified, substr(data, ?2, ?3) FROM objects WHERE key = ?1");
    const auto offset = static_cast<std::int64_t>(std::min<std::uint64_t>(options.offset_bytes, kLargest));
    row.bind(key)
        .bind(offset + 1)
        .bind(static_cast<std::int64_t>(std::min<std::uint64_t>(target.size(), kLargest)));
    HEADRACE_TRY(const bool is_there, named(key, row.step()));
    if (!is_there) return missing(key);
    const ObjectInfo object = info_from(row, key, 0);
    if (options.if_version && *options.if_version != object.version) return changed(key);
    if (options.offset_bytes > object.size_bytes) {
      return Error{Code::kOutOfRange, concat("offset ", options.offset_bytes, " lies past the end of ",
                                             describe(key), ", which has ", object.size_bytes, " bytes")};
    }
    const BytesView data = row.data(3);
    std::ranges::copy(data, target.begin());
    return ReadResult{data.size(), object};
  }

  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    HEADRACE_TRY(const Lock call, begin(options));
    if (!database_) return missing(key);
    HEADRACE_TRY(const std::optional<ObjectInfo> found, find(key));
    if (!found) return missing(key);
    return *found;
  }

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    HEADRACE_CHECK(check_key(key));
    HEADRACE_TRY(const Lock call, begin(options.call));
    HEADRACE_CHECK(open_file());
    return named(key, replace(key, options, [&] {
                   return Statement(database_.get(),
                                    "INSERT INTO objects (key, size, modified, data) "
                                    "VALUES (?1, ?2, unixepoch(), ?3)")
                       .bind(key)
                       .bind(static_cast<std::int64_t>(data.size()))
                       .bind(data)
                       .run();
                 }));
  }

  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    Bytes data;
    HEADRACE_TRY(const ObjectInfo source, stat(from, options.call));
    data.resize(source.size_bytes);
    HEADRACE_CHECK(read_into(from, data, {.if_version = source.version, .call = options.call}));
    return write(to, data, options);
  }

  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;

  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    HEADRACE_TRY(const Lock call, begin(options));
    if (!database_) return {};
    Transaction transaction(database_.get());
    HEADRACE_CHECK(named("", transaction.begin()));
    for (const std::string& key : keys) {
      HEADRACE_CHECK(
          named(key, Statement(database_.get(), "DELETE FROM objects WHERE key = ?1").bind(key).run()));
    }
    return named("", transaction.commit());
  }

  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    std::string after = options.after;
    while (true) {
      HEADRACE_TRY(const std::vector<ObjectInfo> page, page_after(prefix, after, options.call));
      if (page.empty()) return {};
      for (ObjectInfo next : page) {
        if (!next.key.starts_with(prefix)) return {};
        after = next.key;
        const std::size_t slash = next.key.find('/', prefix.size());
        const bool is_in_folder = options.collapse_folders && slash != std::string::npos;
        if (is_in_folder) {
          next = {.key = next.key.substr(0, slash + 1)};
          after = next.key + "\xff";  // past everything in that folder: no key holds this byte
        }
        if (next.key > options.after && !visit(next)) return {};
        if (is_in_folder) break;  // go on past the folder
      }
    }
  }

  // A transaction that was not committed is gone.
  Status list_unfinished(std::string_view, const CallOptions&,
                         const std::function<bool(const UnfinishedWrite&)>&) override {
    return {};
  }
  Status remove_unfinished(const UnfinishedWrite&, const CallOptions&) override { return {}; }

  Capabilities capabilities() const override {
    return {.atomic_if_absent = true, .atomic_if_version = true, .strong_list = true, .latest_only = true};
  }

  std::string describe(std::string_view key) const override {
    return concat("sqlite://", name_, key.empty() ? "" : "/", key);
  }

 private:
  static constexpr std::uint64_t kLargest = 1ULL << 40;

  using Lock = std::unique_lock<std::timed_mutex>;

  // One call at a time: SQLite's transactions are those of a connection. Reading makes no file: until there
  // is one, `database_` is null.
  Result<Lock> begin(const CallOptions& call) {
    const auto most = std::clamp<std::chrono::milliseconds>(call.deadline, {}, busy_timeout_);
    const Wait wait{std::chrono::steady_clock::now() + most, call.stop};
    Lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(kPoll)) {
      if (wait.is_over()) return gave_up(wait);
    }
    if (call.stop.stop_requested()) return gave_up(wait);
    wait_ = wait;
    std::error_code ignored;
    if (!database_ && std::filesystem::exists(path_, ignored)) HEADRACE_CHECK(open_file());
    return lock;
  }
  Error gave_up(const Wait& wait) const {
    if (wait.stop.stop_requested()) return {Code::kCancelled, concat(describe(""), ": the call was stopped")};
    return {Code::kUnavailable, concat(describe(""), ": other calls took too long")};
  }
  // REQUIRES: the lock is held
  Status open_file() {
    if (database_) return {};
    HEADRACE_TRY(database_, open_database(path_));
    sqlite3_busy_handler(database_.get(), go_on_waiting, &wait_);
    return {};
  }

  template <typename Outcome>
  Outcome named(std::string_view key, Outcome outcome) const {
    if (!outcome && wait_.stop.stop_requested()) return gave_up(wait_);
    if (!outcome && outcome.error().message.starts_with("SQLite: "))
      return std::move(outcome).error().in(describe(key));
    return outcome;
  }
  Error missing(std::string_view key) const {
    return {Code::kNotFound, concat("there is no object ", describe(key))};
  }
  Error changed(std::string_view key) const {
    return {Code::kFailedPrecondition, concat(describe(key), " is no longer the requested version")};
  }

  Result<std::optional<ObjectInfo>> find(std::string_view key) {
    Statement row(database_.get(), "SELECT version, size, modified FROM objects WHERE key = ?1");
    HEADRACE_TRY(const bool is_there, named(key, row.bind(key).step()));
    return is_there ? std::optional(info_from(row, key, 0)) : std::nullopt;
  }

  template <typename Insert>
  Result<ObjectInfo> replace(std::string_view key, const WriteOptions& options, Insert insert) {
    Transaction transaction(database_.get());
    HEADRACE_CHECK(transaction.begin());
    HEADRACE_CHECK(check_no_folder_conflict(key));
    HEADRACE_TRY(const std::optional<ObjectInfo> before, find(key));
    if (options.only_if_absent && before)
      return Error{Code::kAlreadyExists, concat(describe(key), " already exists")};
    if (options.if_version && (!before || *options.if_version != before->version)) return changed(key);
    HEADRACE_CHECK(Statement(database_.get(), "DELETE FROM objects WHERE key = ?1").bind(key).run());
    HEADRACE_CHECK(insert());
    HEADRACE_TRY(const std::optional<ObjectInfo> made, find(key));
    HEADRACE_CHECK(transaction.commit());
    return *made;
  }

  // "a" beside "a/b" is refused. REQUIRES: a transaction is open.
  Status check_no_folder_conflict(std::string_view key) {
    Statement below(database_.get(), "SELECT key FROM objects WHERE key > ?1 AND key < ?2 LIMIT 1");
    const std::string first = concat(key, "/");
    const std::string end = concat(key, "0");  // '0' follows '/'
    HEADRACE_TRY(const bool is_folder, below.bind(first).bind(end).step());
    if (is_folder) {
      return Error{Code::kFailedPrecondition,
                   concat(describe(key), " is a folder: ", describe(as_text(below.data(0))), " lies in it")};
    }
    for (std::size_t slash = key.rfind('/'); slash != std::string_view::npos;
         slash = key.substr(0, slash).rfind('/')) {
      HEADRACE_TRY(const std::optional<ObjectInfo> above, find(key.substr(0, slash)));
      if (above) {
        return Error{Code::kFailedPrecondition,
                     concat(describe(above->key), " is an object, so nothing can lie below it")};
      }
    }
    return {};
  }

  Result<std::vector<ObjectInfo>> page_after(std::string_view prefix, std::string_view after,
                                             const CallOptions& options) {
    HEADRACE_TRY(const Lock call, begin(options));
    if (!database_) return std::vector<ObjectInfo>();
    Statement rows(database_.get(),
                   "SELECT key, version, size, modified FROM objects WHERE key >= ?1 AND key > ?2 "
                   "ORDER BY key LIMIT ?3");
    rows.bind(prefix).bind(after).bind(kListedAtOnce);
    std::vector<ObjectInfo> page;
    while (true) {
      HEADRACE_TRY(const bool is_there, named(prefix, rows.step()));
      if (!is_there) return page;
      page.push_back(info_from(rows, as_text(rows.data(0)), 1));
    }
  }

  const std::string path_;
  const std::string name_;
  const std::chrono::milliseconds busy_timeout_;
  std::timed_mutex mutex_;
  Wait wait_;  // of the call that holds the lock
  Database database_;
};

class SqliteUpload final : public Upload {
 public:
  SqliteUpload(SqliteStore& store, std::string key, WriteOptions options)
      : store_(store), key_(std::move(key)), options_(std::move(options)) {}
  Status append(BytesView data) override {
    headrace::append(data_, data);
    return {};
  }
  Result<ObjectInfo> commit() override { return store_.write(key_, data_, options_); }

 private:
  SqliteStore& store_;
  const std::string key_;
  const WriteOptions options_;
  Bytes data_;
};

Result<std::unique_ptr<Upload>> SqliteStore::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_CHECK(check_key(key));
  return std::unique_ptr<Upload>(std::make_unique<SqliteUpload>(*this, std::string(key), options));
}

}  // namespace

std::unique_ptr<Store> make_sqlite_store(std::string path, std::string name,
                                         std::chrono::milliseconds busy_timeout) {
  return std::make_unique<SqliteStore>(std::move(path), std::move(name), busy_timeout);
}

}  // namespace headrace
