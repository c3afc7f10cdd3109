#include <cmath>
#include <optional>

#include "headrace/base/text.h"
#include "headrace/study/measured_curve.h"

namespace headrace {
namespace {

struct CurveColumns {
  std::size_t size = 0, score = 0;
  std::optional<std::size_t> seconds;
};

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out;
  for (const std::string& cell : split(line, ',')) {
    std::string_view text = trim(cell);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    out.emplace_back(text);
  }
  return out;
}

Result<CurveColumns> columns_of(const std::vector<std::string>& names) {
  std::optional<std::size_t> size, score, seconds;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = to_lower(names[i]);
    if (name == "size") size = i;
    if (name == "score") score = i;
    if (name == "seconds") seconds = i;
  }
  if (!size || !score)
    return Error{Code::kDataLoss,
                 "the first line must name the columns: size and score, and, if known, seed and seconds"};
  return CurveColumns{*size, *score, seconds};
}

Result<double> number_in(const std::vector<std::string>& cells, std::size_t column, std::size_t line) {
  const std::optional<double> number =
      column < cells.size() ? parse_number<double>(cells[column]) : std::nullopt;
  if (number && std::isfinite(*number)) return *number;
  return Error{
      Code::kDataLoss,
      concat("line ", line, ": column ", column + 1, " must be a number",
             column < cells.size() ? concat(", not '", printable_line(cells[column], 40), "'") : "")};
}

}  // namespace

Result<std::vector<MeasuredError>> parse_curve_csv(std::string_view text, CurveMetric metric) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::optional<CurveColumns> columns;
  std::vector<MeasuredError> out;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view row = trim(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    ++line;
    if (row.empty() || row.starts_with('#')) continue;
    const std::vector<std::string> cells = cells_of(row);
    if (!columns) {
      HEADRACE_TRY(columns, columns_of(cells));
      continue;
    }
    if (out.size() >= kMostCurveRuns)
      return Error{Code::kDataLoss, concat("there are more than ", kMostCurveRuns, " runs")};
    MeasuredError run;
    HEADRACE_TRY(run.size, number_in(cells, columns->size, line));
    HEADRACE_TRY(const double score, number_in(cells, columns->score, line));
    run.error = metric == CurveMetric::kAccuracy ? 1 - score : score;
    if (columns->seconds) {
      HEADRACE_TRY(run.seconds, number_in(cells, *columns->seconds, line));
    }
    out.push_back(run);
  }
  if (!columns) return Error{Code::kDataLoss, "the file is empty"};
  return out;
}

}  // namespace headrace
