#include <cmath>
#include <optional>
#include <span>

#include "headrace/base/text.h"
#include "headrace/codec/csv.h"
#include "headrace/study/measured_curve.h"

namespace headrace {
namespace {

constexpr std::size_t kMostRowBytes = 1 << 20;

struct CurveColumns {
  std::size_t size = 0, score = 0;
  std::optional<std::size_t> seconds;
};

using Cells = std::span<const std::string_view>;

bool is_comment(Cells cells) {
  const std::string_view first = trim(cells.front());
  return first.starts_with('#') || (cells.size() == 1 && first.empty());
}

Result<CurveColumns> columns_of(Cells names) {
  std::optional<std::size_t> size, score, seconds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = to_lower(trim(names[i]));
    if (name == "size") size = i;
    if (name == "score") score = i;
    if (name == "seconds") seconds = i;
  }
  if (!size || !score)
    return Error{Code::kDataLoss,
                 "the first line must name the columns: size and score, and, if known, seed and seconds"};
  return CurveColumns{*size, *score, seconds};
}

Result<double> number_in(const CsvRow& row, std::size_t column) {
  const std::string_view cell = column < row.cells.size() ? trim(row.cells[column]) : std::string_view();
  const std::optional<double> number = parse_number<double>(cell);
  if (number && std::isfinite(*number)) return *number;
  return Error{Code::kDataLoss, concat("line ", row.line, ": column ", column + 1, " must be a number, not '",
                                       printable_line(cell, 40), "'")};
}

Result<MeasuredError> run_of(const CsvRow& row, const CurveColumns& columns, CurveMetric metric) {
  MeasuredError run;
  HEADRACE_TRY(run.size, number_in(row, columns.size));
  HEADRACE_TRY(const double score, number_in(row, columns.score));
  run.error = metric == CurveMetric::kAccuracy ? 1 - score : score;
  if (columns.seconds) {
    HEADRACE_TRY(run.seconds, number_in(row, *columns.seconds));
  }
  return run;
}

}  // namespace

Result<std::vector<MeasuredError>> parse_curve_csv(std::string_view text, CurveMetric metric) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  CsvReader reader({.max_row_bytes = kMostRowBytes});
  reader.feed(as_bytes(text));
  reader.finish();
  std::optional<CurveColumns> columns;
  std::vector<MeasuredError> out;
  while (const std::optional<CsvRow> row = reader.next()) {
    if (row->problem != CsvProblem::kNone)
      return Error{Code::kDataLoss, concat("line ", row->line, " is not a row of a CSV file")};
    if (is_comment(row->cells)) continue;
    if (!columns) {
      HEADRACE_TRY(columns, columns_of(row->cells));
      continue;
    }
    if (out.size() >= kMostCurveRuns)
      return Error{Code::kDataLoss, concat("there are more than ", kMostCurveRuns, " runs")};
    HEADRACE_TRY(const MeasuredError run, run_of(*row, *columns, metric));
    out.push_back(run);
  }
  if (!columns) return Error{Code::kDataLoss, "the file is empty"};
  return out;
}

}  // namespace headrace
