#include "headrace/predict/prediction_writer.h"

#include <algorithm>
#include <array>

#include "headrace/base/text.h"
#include "headrace/record/tfrecord.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"jsonl", "csv", "tfrecord", "parquet"};

// Follows RFC 4180, except that lines end with LF.
std::string quoted_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string cell_of(const RowName& name, std::string_view column) {
  if (column == "id") return name.id;
  if (column == "source") return name.source;
  return name.row > 0 ? concat(name.row) : "";
}

void append_row(const std::vector<std::string>& cells, Bytes& out) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(quoted_cell(cell));
  append(out, as_bytes(join(quoted, ",")));
  append(out, as_bytes("\n"));
}

}  // namespace

std::string_view prediction_format_name(PredictionFormat format) {
  return kNames[static_cast<std::size_t>(format)];
}

Result<PredictionFormat> parse_prediction_format(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found != kNames.end()) return static_cast<PredictionFormat>(found - kNames.begin());
  return Error{Code::kInvalidArgument, concat("there is no prediction format ", name)};
}

std::string prediction_ending(PredictionFormat format) {
  return concat(".", prediction_format_name(format), format == PredictionFormat::kParquet ? "" : ".gz");
}

void PredictionWriter::begin(const AnswerFormat& answers, Bytes& out) const {
  if (format_ != PredictionFormat::kCsv && format_ != PredictionFormat::kParquet) return;
  std::vector<std::string> columns = names_;
  for (std::string& column : answers.columns()) columns.push_back(std::move(column));
  append_row(columns, out);
}

void PredictionWriter::add(const RowName& name, const Answers& answers, std::uint64_t row, Bytes& out) {
  const std::vector<std::span<const float>> values = answers.values(row);
  switch (format_) {
    case PredictionFormat::kJsonLines:
      append(out, as_bytes(answers.format().to_json(json_members(name), values)));
      append(out, as_bytes("\n"));
      return;
    case PredictionFormat::kCsv:
    case PredictionFormat::kParquet: {
      std::vector<std::string> cells;
      for (const std::string& column : names_) cells.push_back(cell_of(name, column));
      for (std::string& cell : answers.format().cells(values)) cells.push_back(std::move(cell));
      return append_row(cells, out);
    }
    case PredictionFormat::kTfrecord:
      example_.clear();
      answers.format().append_example(name, values, example_);
      return append_record(out, example_);
  }
}

}  // namespace headrace
