// Queries of the index: filters and orders as SQL with bound values.

#include <algorithm>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/run_index/conditions.h"
#include "headrace/run_index/run_index.h"

namespace headrace {
namespace {

constexpr int kMissing = 3;  // rank of runs without the value

// A group of runs with consecutive places in an order.
struct OrderedGroup {
  int rank = 0;
  Sql from;         // "FROM … WHERE …"
  std::string key;  // the column to order by; empty if there is none
};

// "run_id" is the column `id`; other attributes are columns of the same names, which the target has checked.
std::string attribute_column(const std::string& key) { return key == "run_id" ? "r.id" : concat("r.", key); }

constexpr ColumnPlaces kRunColumns = {attribute_column, "metrics", "parameters"};

Sql conditions_of_query(const RunQuery& query) {
  Sql sql = conditions_of(query.filter, kRunColumns);
  if (!query.output.empty()) {  // '0' follows '/'
    sql.add(" AND (r.output = ? OR (r.output > ? AND r.output < ?))",
            {query.output, query.output + "/", query.output + "0"});
  }
  return sql;
}

// Runs that have the value, then runs whose value is NaN or not a number, then runs without the value.
std::vector<OrderedGroup> groups_of(const std::optional<SearchOrder>& order) {
  if (!order) return {{0, {"FROM runs r WHERE 1"}, ""}};
  const std::string& key = order->column.key;
  if (order->column.entity == Entity::kAttribute) {
    const std::string column = attribute_column(key);
    return {{0, {concat("FROM runs r WHERE ", column, " IS NOT NULL")}, column},
            {kMissing, {concat("FROM runs r WHERE ", column, " IS NULL")}, ""}};
  }
  const bool is_metric = order->column.entity == Entity::kMetric;
  const std::string table(kRunColumns.table_of(order->column.entity));
  const std::string missing_of = concat("FROM runs r WHERE NOT EXISTS (SELECT 1 FROM ", table,
                                        " s WHERE s.run = r.number AND s.name = ?)");
  if (order->column.entity == Entity::kTag) {
    return {{0, {"FROM tags s CROSS JOIN runs r ON r.number = s.run WHERE s.name = ?", {key}}, "s.value"},
            {kMissing, {missing_of, {key}}, ""}};
  }
  const std::string number = is_metric ? "s.value" : "s.number";
  const std::string from =
      concat("FROM ", table, " s CROSS JOIN runs r ON r.number = s.run WHERE s.name = ? AND ", number);
  return {{0, {from + " IS NOT NULL", {key}}, number},
          {1, {from + " IS NULL", {key}}, is_metric ? "" : "s.value"},
          {kMissing, {missing_of, {key}}, ""}};
}

Sql select_of(const RunQuery& query, OrderedGroup group, std::size_t most) {
  Sql sql{concat("SELECT r.number, ", group.key.empty() ? "NULL" : group.key,
                 ", r.seconds, r.id, r.command, r.status, r.output, r.started ")};
  sql.add(group.from.text, std::move(group.from.values));
  Sql conditions = conditions_of_query(query);
  sql.add(conditions.text, std::move(conditions.values)).add(" ORDER BY ");
  if (!group.key.empty()) sql.add(concat(group.key, query.order->is_ascending ? ", " : " DESC, "));
  sql.add("r.started DESC, r.id DESC LIMIT ?", {static_cast<std::int64_t>(most)});
  return sql;
}

ColumnValue key_of(const SqlValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

IndexedRun run_of(std::vector<SqlValue>& row, int rank) {
  const auto text = [&](std::size_t column) {
    auto* const value = std::get_if<std::string>(&row[column]);
    return value ? std::move(*value) : std::string();
  };
  IndexedRun run{.rank = rank, .key = key_of(row[1])};
  if (const auto* number = std::get_if<std::int64_t>(&row[0])) run.number = *number;
  if (const auto* seconds = std::get_if<double>(&row[2])) run.seconds = *seconds;
  run.id = text(3);
  run.command = text(4);
  run.status = text(5);
  run.output = text(6);
  run.started = text(7);
  return run;
}

}  // namespace

const SearchTarget& indexed_run_target() {
  static const SearchTarget kTarget = {
      .text_attributes = {"run_id", "command", "status", "output", "started"},
      .number_attributes = {"seconds"},
      .list_attributes = {"run_id", "command", "status"},
      .entities = {Entity::kMetric, Entity::kParam, Entity::kTag},
      .compares_params_by_number = true,
      .ordered_attributes = {"started"}};
  return kTarget;
}

bool run_comes_before(const IndexedRun& one, const IndexedRun& other,
                      const std::optional<SearchOrder>& order) {
  if (one.rank != other.rank) return one.rank < other.rank;
  if (one.key != other.key) return (one.key < other.key) == order->is_ascending;
  return std::tie(one.started, one.id, one.output) > std::tie(other.started, other.id, other.output);
}

Status RunIndex::check(const RunQuery& query) {
  for (OrderedGroup& group : groups_of(query.order))
    HEADRACE_CHECK(database_.check(select_of(query, std::move(group), query.most)));
  return {};
}

Result<std::vector<IndexedRun>> RunIndex::find(const RunQuery& query) {
  std::vector<IndexedRun> found;
  for (OrderedGroup& group : groups_of(query.order)) {
    const std::size_t left = query.most - found.size();
    if (left == 0) break;
    const int rank = group.rank;
    HEADRACE_TRY(auto rows, database_.rows(select_of(query, std::move(group), left)));
    for (auto& row : rows) found.push_back(run_of(row, rank));
  }
  return found;
}

}  // namespace headrace
