#include "headrace/prepare/ignite/ordered_rows.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {
namespace {

// How many times in a row, without a page between them, the connection may be lost before that is an error.
// Each attempt alone tries all nodes for as long as a call may take.
constexpr int kLossLimit = 5;

// Returns a condition for rows whose key is greater, or less, than `key`, such as
// "A >= ? AND (A > ? OR A = ? AND B > ?)". The first comparison lets the node use an index.
std::string bound(const std::vector<std::string>& columns, const IgniteKey& key, char comparison,
                  bool or_equal, std::vector<Bytes>& arguments) {
  const auto compared = [&](std::size_t i, std::string_view with) {
    arguments.push_back(key[i]);
    return concat(quoted_identifier(columns[i]), " ", with, " ?");
  };
  const std::string strict(1, comparison);
  const std::string whole = or_equal ? strict + "=" : strict;
  if (columns.size() == 1) return compared(0, whole);
  std::string text = concat(compared(0, strict + "="), " AND (");
  for (std::size_t length = 1; length <= columns.size(); ++length) {
    if (length > 1) text += " OR ";
    for (std::size_t i = 0; i + 1 < length; ++i) text += concat(compared(i, "="), " AND ");
    text += compared(length - 1, length == columns.size() ? whole : strict);
  }
  return text + ")";
}

std::string order_of(const OrderedQuery& query) {
  std::vector<std::string> columns;
  for (const std::string& column : query.order) columns.push_back(quoted_identifier(column));
  for (std::size_t i = 1; query.order.empty() && i <= query.columns; ++i) columns.push_back(concat(i));
  return join(columns, ", ");
}

}  // namespace

ignite::SqlQuery ordered_statement(const OrderedQuery& query) {
  ignite::SqlQuery sql{.schema = query.schema, .page_rows = query.page_rows, .is_select = true};
  // The statement is on lines of its own, because it may end with a comment.
  sql.text = concat("SELECT * FROM (\n", query.statement, "\n)");
  if (!query.after.empty())
    sql.text += concat(" WHERE ", bound(query.order, query.after, '>', false, sql.arguments));
  if (!query.last.empty()) {
    sql.text += concat(query.after.empty() ? " WHERE " : " AND ",
                       bound(query.order, query.last, '<', true, sql.arguments));
  }
  sql.text += concat(" ORDER BY ", order_of(query));
  return sql;
}

Status OrderedRows::find_key_columns() {
  const std::vector<std::string>& columns = result_->columns();
  if (columns.size() != query_.columns) {
    return Error{Code::kFailedPrecondition, concat("the statement has ", columns.size(), " columns, but had ",
                                                   query_.columns, " when its rows were listed")};
  }
  key_columns_.clear();
  for (const std::string& name : query_.order) {
    const auto found = std::ranges::find(columns, name);
    if (found == columns.end()) {
      return Error{Code::kFailedPrecondition,
                   concat("the statement has no column ", printable_line(name, 80), " any more")};
    }
    key_columns_.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  return {};
}

Status OrderedRows::run(const std::stop_token& stop) {
  result_.reset();
  skip_ = query_.order.empty() ? given_ : 0;
  HEADRACE_TRY(result_, ignite::SqlResult::run(cluster_, ordered_statement(query_), stop));
  return find_key_columns();
}

// Keeps the key of the last row, whose page is about to be dropped. The query may have to be sent again with
// that key.
void OrderedRows::remember_key() {
  if (row_.empty() || key_columns_.empty()) return;
  query_.after.clear();
  for (const std::size_t column : key_columns_)
    query_.after.emplace_back(row_[column].begin(), row_[column].end());
  row_.clear();
}

Status OrderedRows::next_page(const std::stop_token& stop) {
  remember_key();
  page_.reset();
  while (true) {
    if (!result_) HEADRACE_CHECK(run(stop));
    Result<std::optional<ignite::SqlPage>> page = result_->next_page(stop);
    if (page) {
      losses_ = 0;
      page_ = *std::move(page);
      return {};
    }
    if (page.error().code != Code::kUnavailable || ++losses_ == kLossLimit) return std::move(page).error();
    result_.reset();
  }
}

Result<const std::vector<BytesView>*> OrderedRows::next(const std::stop_token& stop) {
  while (true) {
    if (page_ && page_->next(row_)) {
      if (skip_ == 0) {
        ++given_;
        return &row_;
      }
      --skip_;
      continue;
    }
    HEADRACE_CHECK(next_page(stop));
    if (!page_) return nullptr;
  }
}

}  // namespace headrace
