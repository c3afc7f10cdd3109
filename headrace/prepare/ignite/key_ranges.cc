#include "headrace/prepare/ignite/key_ranges.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/net/ignite/object_size.h"
#include "headrace/prepare/ignite/ignite_rows.h"

namespace headrace {
namespace {

using ignite::SqlQuery;
using ignite::SqlResult;

constexpr std::uint64_t kPageBytes = 4 << 20;
constexpr std::uint64_t kPageRowsLimit = 8192;
constexpr int kSampleRows = 16;

// Parses the columns of a primary key, such as `"ID" ASC, "PART" ASC`.
std::vector<std::string> columns_of_index(std::string_view text) {
  std::vector<std::string> columns;
  std::string name;
  bool is_inside = false;
  for (const char c : text) {
    if (c == '"') {
      if (is_inside) columns.push_back(std::exchange(name, {}));
      is_inside = !is_inside;
    } else if (is_inside) {
      name += c;
    }
  }
  return columns;
}

// Returns the only text in a system view's answer about the table; none if the answer has no rows.
Result<std::optional<std::string>> ask_about(const std::shared_ptr<ignite::Cluster>& cluster,
                                             const IgniteQueryUrl& url, std::string_view what,
                                             std::string_view where, const std::stop_token& stop) {
  const SqlQuery query{
      .text = concat("SELECT ", what, " WHERE SCHEMA_NAME = ? AND TABLE_NAME = ? AND ", where),
      .arguments = {ignite::encode_string(url.schema), ignite::encode_string(url.table)},
      .is_select = true};
  HEADRACE_TRY(const auto result, SqlResult::run(cluster, query, stop));
  HEADRACE_TRY(std::optional<ignite::SqlPage> page, result->next_page(stop));
  std::vector<BytesView> row;
  std::optional<std::string> text;
  if (!page || !page->next(row)) return text;
  ignite::ObjectCursor cursor(row.at(0));
  if (!ignite::read_text(cursor, text) || !text) return ignite::malformed("the answer of a system view");
  return text;
}

Result<std::vector<std::string>> primary_key(const std::shared_ptr<ignite::Cluster>& cluster,
                                             const IgniteQueryUrl& url, const std::stop_token& stop) {
  HEADRACE_TRY(const std::optional<std::string> index,
               ask_about(cluster, url, "COLUMNS FROM SYS.INDEXES", "INDEX_NAME = '_key_PK'", stop));
  if (!index) {
    return Error{Code::kNotFound,
                 concat("Ignite has no table ", url.table, " in the schema ", url.schema,
                        "; write a lowercase name in double quotes, and name another schema with schema=")};
  }
  std::vector<std::string> columns = columns_of_index(*index);
  if (columns != std::vector<std::string>{"_KEY"}) return columns;
  // The index calls the column _KEY if the key has one column; the table's columns have its real name.
  HEADRACE_TRY(
      std::optional<std::string> column,
      ask_about(cluster, url, "COLUMN_NAME FROM SYS.TABLE_COLUMNS", "PK AND COLUMN_NAME <> '_KEY'", stop));
  if (column) columns = {*std::move(column)};
  return columns;
}

Result<std::vector<std::string>> columns_of_order(const IgniteQueryUrl& url,
                                                  const std::vector<std::string>& wanted,
                                                  const std::vector<std::string>& columns) {
  std::vector<std::string> order;
  for (const std::string& name : wanted) {
    auto found = std::ranges::find(columns, name);
    if (found == columns.end() && !url.order_by.empty()) found = std::ranges::find(columns, to_upper(name));
    if (found == columns.end()) {
      return Error{Code::kInvalidArgument,
                   concat("the rows have no column ", printable_line(name, 80),
                          " to order them by; their columns are ", printable_line(join(columns, ", "), 400),
                          url.order_by.empty() ? ": name a key with order_by=, or select _KEY" : "")};
    }
    if (std::ranges::find(order, *found) == order.end()) order.push_back(*found);
  }
  return order;
}

bool is_null(BytesView object) {
  return object.empty() || object.front() == static_cast<std::byte>(ignite::TypeCode::kNull);
}

// Cuts rows into ranges. The rows are added in the order of their keys.
class RangeCutter {
 public:
  RangeCutter(const OrderedQuery& query, std::uint64_t range_bytes)
      : query_(query), range_bytes_(std::max<std::uint64_t>(range_bytes, 1)) {}

  Status add(const std::vector<BytesView>& row, const std::vector<std::size_t>& key_columns) {
    HEADRACE_CHECK(take_key(row, key_columns));
    if (!key_columns.empty() && digest_.size_bytes() >= range_bytes_) end_range(before_);
    digest_.add(row);
    ++rows_;
    return {};
  }

  Result<std::vector<KeyRange>> finish() {
    if (digest_.rows() > 0) end_range(key_);
    if (ranges_.empty()) return Error{Code::kNotFound, "the statement has no rows"};
    return std::move(ranges_);
  }

 private:
  Status take_key(const std::vector<BytesView>& row, const std::vector<std::size_t>& key_columns) {
    std::swap(before_, key_);
    key_.resize(key_columns.size());
    for (std::size_t i = 0; i < key_columns.size(); ++i) {
      const BytesView object = row[key_columns[i]];
      if (is_null(object)) return not_a_key("is null");
      key_[i].assign(object.begin(), object.end());
    }
    if (!key_columns.empty() && rows_ > 0 && key_ == before_) return not_a_key("is in two rows");
    return {};
  }

  Error not_a_key(std::string_view why) const {
    return {
        Code::kInvalidArgument,
        concat("a value of ", printable_line(join(query_.order, ", "), 200), " ", why, " (row ", rows_ + 1,
               "), so it cannot order the rows; use order_by= to name columns that are unique together")};
  }

  void end_range(const IgniteKey& last) {
    KeyRange range{.after = ranges_.empty() ? IgniteKey() : ranges_.back().last,
                   .last = last,
                   .rows = digest_.rows(),
                   .size_bytes = digest_.size_bytes()};
    range.digest = std::exchange(digest_, RowsDigest()).finish();
    ranges_.push_back(std::move(range));
  }

  const OrderedQuery& query_;
  const std::uint64_t range_bytes_;
  std::vector<KeyRange> ranges_;
  RowsDigest digest_;
  std::uint64_t rows_ = 0;
  IgniteKey before_;  // key of the row before
  IgniteKey key_;
};

Json to_json(const IgniteKey& key) {
  Json::Array out;
  for (const Bytes& object : key) out.push_back(Json(base64(object)));
  return out;
}

Result<IgniteKey> key_of(const Json& document, std::string_view name, std::size_t columns) {
  IgniteKey key;
  if (!document.contains(name)) return key;
  for (const Json& part : document.at(name).values()) {
    std::optional<Bytes> object = parse_base64(part.text());
    const Result<std::size_t> size = ignite::object_size(object.value_or(Bytes()));
    if (!object || !size || *size != object->size())
      return Error{Code::kDataLoss, concat(name, " is not a key of Ignite")};
    key.push_back(*std::move(object));
  }
  if (key.size() != columns)
    return Error{Code::kDataLoss, concat(name, " is a key with another number of columns")};
  return key;
}

}  // namespace

Result<OrderedQuery> find_query(const std::shared_ptr<ignite::Cluster>& cluster, const IgniteQueryUrl& url,
                                const std::stop_token& stop) {
  std::vector<std::string> wanted = url.order_by;
  if (!url.table.empty() && wanted.empty()) {
    HEADRACE_TRY(wanted, primary_key(cluster, url, stop));
  }
  const SqlQuery sample{.text = concat("SELECT * FROM (\n", url.statement, "\n) LIMIT ", kSampleRows),
                        .schema = url.schema,
                        .page_rows = kSampleRows,
                        .is_select = true};
  HEADRACE_TRY(const auto result, SqlResult::run(cluster, sample, stop));
  OrderedQuery query{.statement = url.statement, .schema = url.schema, .columns = result->columns().size()};
  HEADRACE_TRY(query.order, columns_of_order(url, wanted, result->columns()));
  HEADRACE_TRY(std::optional<ignite::SqlPage> page, result->next_page(stop));
  RowsDigest first;
  for (std::vector<BytesView> row; page && page->next(row);) first.add(row);
  query.page_rows = page_rows_for(url, first.rows(), first.size_bytes());
  return query;
}

std::int32_t page_rows_for(const IgniteQueryUrl& url, std::uint64_t rows, std::uint64_t size_bytes) {
  if (url.page_rows > 0) return url.page_rows;
  const std::uint64_t row_bytes = std::max<std::uint64_t>(size_bytes / std::max<std::uint64_t>(rows, 1), 1);
  return static_cast<std::int32_t>(std::clamp<std::uint64_t>(kPageBytes / row_bytes, 4, kPageRowsLimit));
}

Result<std::vector<KeyRange>> list_ranges(const std::shared_ptr<ignite::Cluster>& cluster,
                                          const OrderedQuery& query, std::uint64_t range_bytes,
                                          const std::stop_token& stop) {
  OrderedRows rows(cluster, query);
  RangeCutter cutter(query, range_bytes);
  while (true) {
    HEADRACE_TRY(const std::vector<BytesView>* const row, rows.next(stop));
    if (row == nullptr) return cutter.finish();
    HEADRACE_CHECK(cutter.add(*row, rows.key_columns()));
  }
}

std::string range_to_json(const KeyRange& range, const OrderedQuery& query) {
  Json::Object document{{"columns", query.columns}, {"order", query.order}, {"rows", range.rows}};
  if (!range.after.empty()) document["after"] = to_json(range.after);
  if (!range.last.empty()) document["last"] = to_json(range.last);
  return Json(std::move(document)).dump();
}

Result<PlacedRange> parse_range(std::string_view json) {
  return read_json(json, "the place of a slice is damaged", [](const Json& document) -> Result<PlacedRange> {
    PlacedRange range{.rows = document.get<std::uint64_t>("rows")};
    range.query.columns = document.get<std::size_t>("columns");
    range.query.order = document.get<std::vector<std::string>>("order");
    if (range.query.columns == 0 || range.query.columns > ignite::kSqlColumnLimit)
      return Error{Code::kDataLoss, "columns is out of its range"};
    HEADRACE_TRY(range.query.after, key_of(document, "after", range.query.order.size()));
    HEADRACE_TRY(range.query.last, key_of(document, "last", range.query.order.size()));
    return range;
  });
}

}  // namespace headrace
