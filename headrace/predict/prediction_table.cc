#include "headrace/predict/prediction_table.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"

namespace headrace {
namespace {

// Limits of a batch. Nodes parse a statement once for each number of rows.
constexpr std::size_t kRowsOfBatch = 256;
constexpr std::size_t kValuesOfBatch = 4096;
constexpr std::size_t kBytesOfBatch = 4 << 20;

// Turns "probability:pos" into PROBABILITY_POS, so that SQL needs no quotes for the name.
std::string column_name(std::string_view name) {
  std::string out = to_upper(name);
  for (char& c : out) {
    if ((c < 'A' || c > 'Z') && (c < '0' || c > '9')) c = '_';
  }
  return out;
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

PredictionTable::PredictionTable(const AnswerFormat& answers, std::string model_digest)
    : columns_(table_columns(answers)), model_digest_(std::move(model_digest)) {
  columns_.push_back({.name = "MODEL_DIGEST"});
}

Result<ignite::Value> PredictionTable::value_of(const TableColumn& column, const std::string& text) {
  if (!column.is_number) return ignite::Value(std::string_view(text));
  const auto number = parse_number<float>(text);
  if (!number) return Error{Code::kInternal, concat("the answer ", text, " is not a number")};
  return ignite::Value(*number);
}

Status PredictionTable::Batch::add(const RowName& name, const Answers& answers, std::size_t row,
                                   const std::stop_token& stop) {
  std::vector<std::string> cells = answers.format().cells(answers.values(row));
  cells.push_back(table_.model_digest_);
  for (const std::string& cell : cells) bytes_ += cell.size();
  rows_.insert_or_assign(row_key(name), std::move(cells));
  const std::size_t limit =
      std::clamp<std::size_t>(kValuesOfBatch / (table_.columns_.size() + 1), 1, kRowsOfBatch);
  return rows_.size() >= limit || bytes_ >= kBytesOfBatch ? finish(stop) : Status();
}

Status PredictionTable::Batch::finish(const std::stop_token& stop) {
  if (rows_.empty()) return {};
  HEADRACE_CHECK(table_.write(rows_, stop));
  rows_.clear();
  bytes_ = 0;
  return {};
}

}  // namespace headrace
