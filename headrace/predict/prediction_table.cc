#include "headrace/predict/prediction_table.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/net/ignite/object_encoder.h"
#include "headrace/net/ignite/sql.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {
namespace {

// Limits of a statement. A node parses a statement of each length once.
constexpr std::size_t kStatementRows = 256;
constexpr std::size_t kStatementValues = 4096;
constexpr std::size_t kStatementBytes = 4 << 20;

// "probability:pos" becomes PROBABILITY_POS, so that SQL needs no quotes for it.
std::string column_name(std::string_view name) {
  std::string out = to_upper(name);
  for (char& c : out) {
    if ((c < 'A' || c > 'Z') && (c < '0' || c > '9')) c = '_';
  }
  return out;
}

// Those that a statement takes at once.
std::size_t batch_rows(std::size_t columns) {
  return std::clamp<std::size_t>(kStatementValues / columns, 1, kStatementRows);
}

Result<Bytes> encoded(const TableColumn& column, const std::string& text) {
  ignite::Value value = std::string_view(text);
  if (column.is_number) {
    const auto number = parse_number<float>(text);
    if (!number) return Error{Code::kInternal, concat("the answer ", text, " is no number")};
    value = *number;
  }
  Bytes out;
  HEADRACE_CHECK(ignite::append_object(value, {}, out));
  return out;
}

std::vector<std::string> names_of(const std::vector<TableColumn>& columns) {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(quoted_identifier(column.name));
  return names;
}

std::string creation_of(const std::string& table, const std::vector<TableColumn>& columns) {
  std::vector<std::string> parts;
  for (const TableColumn& column : columns) {
    parts.push_back(concat(quoted_identifier(column.name), column.is_number ? " REAL" : " VARCHAR",
                           parts.empty() ? " PRIMARY KEY" : ""));
  }
  return concat("CREATE TABLE IF NOT EXISTS ", quoted_identifier(table), " (", join(parts, ", "), ")");
}

std::string merge_of(const std::string& table, const std::vector<TableColumn>& columns, std::size_t rows) {
  const std::string row = concat("(", join(std::vector<std::string>(columns.size(), "?"), ", "), ")");
  return concat("MERGE INTO ", quoted_identifier(table), " (", join(names_of(columns), ", "), ") VALUES ",
                join(std::vector<std::string>(rows, row), ", "));
}

}  // namespace

std::vector<TableColumn> table_columns(const AnswerFormat& answers) {
  const std::map<std::string, std::string> types = answers.column_types();
  std::set<std::string> taken = {"ID", "MODEL_DIGEST"};
  std::vector<TableColumn> out;
  for (const std::string& column : answers.columns()) {
    const std::string name = column_name(column);
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) unique = concat(name, "_", number);
    out.push_back({.name = std::move(unique), .is_number = types.at(column) == "float32"});
  }
  return out;
}

std::string row_key(const RowName& name) {
  if (!name.id.empty()) return name.id;
  return name.source.empty() ? concat(name.row) : concat(name.source, "#", name.row);
}

Result<PredictionTable> PredictionTable::open(std::shared_ptr<ignite::Cluster> cluster, std::string schema,
                                              std::string table, const AnswerFormat& answers,
                                              std::string model_digest, const std::stop_token& stop) {
  PredictionTable out;
  out.cluster_ = std::move(cluster);
  out.schema_ = std::move(schema);
  out.table_ = std::move(table);
  out.model_digest_ = std::move(model_digest);
  out.columns_ = table_columns(answers);
  out.columns_.insert(out.columns_.begin(), {.name = "ID"});
  out.columns_.push_back({.name = "MODEL_DIGEST"});
  HEADRACE_CHECK(ignite::SqlResult::run(
      out.cluster_,
      {.text = creation_of(out.table_, out.columns_), .schema = out.schema_, .is_repeatable = true}, stop));
  return out;
}

Status PredictionTable::write(const Rows& rows, const std::stop_token& stop) const {
  // A node puts as many rows at once as a page has.
  ignite::SqlQuery query{.text = merge_of(table_, columns_, rows.size()),
                         .schema = schema_,
                         .page_rows = static_cast<std::int32_t>(rows.size()),
                         .is_repeatable = true};
  for (const auto& [id, cells] : rows) {
    query.arguments.push_back(ignite::encode_string(id));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      HEADRACE_TRY(Bytes value, encoded(columns_[i + 1], cells[i]));
      query.arguments.push_back(std::move(value));
    }
  }
  const auto done = ignite::SqlResult::run(cluster_, query, stop);
  if (done) return {};
  return done.error().in(
      concat("writing predictions into Ignite's table ", table_, ", as ", join(names_of(columns_), ", ")));
}

Status PredictionTable::Batch::add(const RowName& name, const Answers& answers, std::size_t row,
                                   const std::stop_token& stop) {
  std::vector<std::string> cells = answers.format().cells(answers.values(row));
  cells.push_back(table_.model_digest_);
  for (const std::string& cell : cells) bytes_ += cell.size();
  rows_.insert_or_assign(row_key(name), std::move(cells));
  const bool is_full = rows_.size() >= batch_rows(table_.columns_.size()) || bytes_ >= kStatementBytes;
  return is_full ? finish(stop) : Status();
}

Status PredictionTable::Batch::finish(const std::stop_token& stop) {
  if (rows_.empty()) return {};
  HEADRACE_CHECK(table_.write(rows_, stop));
  rows_.clear();
  bytes_ = 0;
  return {};
}

}  // namespace headrace
