#include "headrace/net/ignite/sql.h"

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

using std::chrono::steady_clock;

constexpr std::uint8_t kAnyStatement = 0;
constexpr std::uint8_t kSelectStatement = 1;

Bytes encode_query(const SqlQuery& query) {
  Bytes body;
  append_little_endian(body, std::int32_t{0});  // no cache
  append_little_endian(body, std::uint8_t{0});  // no flags
  if (query.schema.empty()) {
    append_null(body);
  } else {
    append_string(body, query.schema);
  }
  append_little_endian(body, query.page_rows);
  append_little_endian(body, std::int32_t{-1});  // no limit of rows
  append_string(body, query.text);
  append_little_endian(body, static_cast<std::int32_t>(query.arguments.size()));
  for (const Bytes& argument : query.arguments) append(body, argument);
  append_little_endian(body, query.is_select ? kSelectStatement : kAnyStatement);
  // Flags: distributed joins, local, replicated only, enforced order of joins, collocated, lazy. Lazy: the
  // node makes rows as they are requested.
  for (const std::uint8_t flag : {0, 0, 0, 0, 0, 1}) append_little_endian(body, flag);
  append_little_endian(body, static_cast<std::int64_t>(query.timeout.count()));
  append_little_endian(body, std::uint8_t{1});  // with the names of columns
  return body;
}

}  // namespace

Result<std::unique_ptr<SqlResult>> SqlResult::run(std::shared_ptr<Cluster> cluster, const SqlQuery& query,
                                                  const std::stop_token& stop) {
  if (query.page_rows < 1)
    return Error{Code::kInvalidArgument, concat("page_rows is ", query.page_rows, "; it must be 1 or more")};
  std::unique_ptr<SqlResult> result(new SqlResult(std::move(cluster)));
  Result<Answer> answer = result->cluster_->ask(
      Operation::kQuerySqlFields, encode_query(query),
      query.is_select || query.is_repeatable ? Repeat::kSafe : Repeat::kUnsafe, {}, stop);
  if (!answer) return std::move(answer).error().in(concat("SQL \"", printable_line(query.text, 200), '"'));
  result->connection_ = std::move(answer->connection);
  ObjectCursor cursor(answer->response.body());
  HEADRACE_CHECK(result->read_head(answer->response, cursor));
  HEADRACE_TRY(result->first_, result->read_page(std::move(answer->response), cursor));
  return result;
}

SqlResult::~SqlResult() {
  if (!cursor_) return;
  Bytes body;
  append_little_endian(body, *cursor_);
  const Connection::Time until = steady_clock::now() + std::chrono::seconds(2);
  if (const Result<std::int64_t> request = connection_->send(Operation::kResourceClose, body, until))
    connection_->abandon(*request);
}

Status SqlResult::read_head(const Response& response, ObjectCursor& cursor) {
  std::int64_t id = 0;
  std::size_t columns = 0;
  if (response.body().empty() || !cursor.read(id) || !cursor.read_count(1, columns))
    return malformed("the columns of an SQL result");
  cursor_ = id;
  if (columns > kSqlColumnLimit) {
    return Error{Code::kResourceExhausted,
                 concat("an SQL result has ", columns, " columns; the limit is ", kSqlColumnLimit)};
  }
  for (std::size_t i = 0; i < columns; ++i) {
    std::optional<std::string> name;
    if (!read_text(cursor, name)) return malformed("the name of a column");
    columns_.push_back(std::move(name).value_or(""));
  }
  return {};
}

Result<SqlPage> SqlPage::read(Response response, ObjectCursor& cursor, std::size_t columns) {
  SqlPage page;
  if (!cursor.read_count(columns, page.row_count_)) return malformed("the number of rows of an SQL page");
  if (columns == 0 && page.row_count_ > 0) return malformed("rows without columns");
  page.columns_ = columns;
  page.position_ = cursor.position();
  for (std::size_t i = 0; i < page.row_count_ * columns; ++i) HEADRACE_CHECK(take_object(cursor));
  page.response_ = std::move(response);
  return page;
}

bool SqlPage::next(std::vector<BytesView>& row) {
  if (taken_ == row_count_) return false;
  ++taken_;
  row.clear();
  ObjectCursor cursor(response_.body(), position_);
  // `read` has checked the objects.
  for (std::size_t i = 0; i < columns_; ++i) row.push_back(*take_object(cursor));
  position_ = cursor.position();
  return true;
}

Response SqlPage::take_response() {
  taken_ = row_count_;
  return std::move(response_);
}

Result<SqlPage> SqlResult::read_page(Response response, ObjectCursor& cursor) {
  HEADRACE_TRY(SqlPage page, SqlPage::read(std::move(response), cursor, columns_.size()));
  std::uint8_t has_more = 0;
  if (!cursor.read(has_more)) return malformed("the end of an SQL page");
  if (has_more == 0) cursor_.reset();
  return page;
}

Result<std::optional<SqlPage>> SqlResult::next_page(const std::stop_token& stop) {
  if (first_ && first_->row_count() > 0) return std::exchange(first_, std::nullopt);
  first_.reset();
  while (cursor_) {
    Bytes body;
    append_little_endian(body, *cursor_);
    const Connection::Time until = steady_clock::now() + cluster_->options().call_timeout;
    HEADRACE_TRY(const std::int64_t request,
                 connection_->send(Operation::kQuerySqlFieldsNextPage, body, until, stop));
    HEADRACE_TRY(Response response, connection_->receive(request, until, stop));
    ObjectCursor cursor(response.body());
    HEADRACE_TRY(SqlPage page, read_page(std::move(response), cursor));
    if (page.row_count() > 0) return std::optional<SqlPage>(std::move(page));
  }
  return std::optional<SqlPage>();
}

}  // namespace headrace::ignite
