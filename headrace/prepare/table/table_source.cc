#include "headrace/prepare/table/table_source.h"

#include <algorithm>
#include <string>

#include "headrace/base/text.h"
#include "headrace/codec/csv.h"
#include "headrace/prepare/table/byte_order_mark.h"

namespace headrace {
namespace {

constexpr std::size_t kQuotedNameBytes = 60;

std::string quoted(std::string_view name) {
  return concat("\"", printable_line(name, kQuotedNameBytes), "\"");
}

std::string_view problem_text(CsvProblem problem) {
  switch (problem) {
    case CsvProblem::kNone:
      return "";
    case CsvProblem::kTextAfterQuote:
      return "text after a closing quote";
    case CsvProblem::kQuoteNotClosed:
      return "quote that is not closed";
    case CsvProblem::kRowTooLarge:
      return "row larger than the limit";
    case CsvProblem::kTooManyCells:
      return "wrong number of cells";
  }
  return "";
}

class TableParser final : public RowParser {
 public:
  explicit TableParser(const TableOptions& options)
      : csv_options_{.delimiter = options.delimiter,
                     .max_row_bytes = row_limit_bytes(options.cell_limit_bytes),
                     .max_cells = kMaxColumns},
        is_certain_(options.is_certain),
        cell_limit_bytes_(options.cell_limit_bytes) {}

  void begin_file(std::string_view where, std::string_view name, std::uint32_t number) override {
    where_ = where;
    id_.begin_file(name);
    place_ = {.file = number};
    mark_ = {};
    reader_.emplace(csv_options_);
    has_header_ = is_ended_ = false;
  }

  void feed(BytesView piece) override {
    mark_.take_off(piece, [&](BytesView bytes) { reader_->feed(bytes); });
  }

  void end_file() override {
    mark_.finish([&](BytesView bytes) { reader_->feed(bytes); });
    reader_->finish();
    is_ended_ = true;
  }

  Result<std::optional<SourceRow>> next() override {
    std::optional<CsvRow> row = reader_->next();
    if (row && !has_header_) {
      HEADRACE_CHECK(read_header(*row));
      has_header_ = true;
      row = reader_->next();
    }
    if (row) return std::optional(take(*row));
    if (is_ended_ && !has_header_)
      return invalid("is empty: a table begins with a header, which is a row of column names");
    return std::optional<SourceRow>();
  }

 private:
  Error invalid(std::string_view what) const { return {Code::kInvalidArgument, concat(where_, " ", what)}; }

  std::string place_text(const CsvRow& row) const {
    return concat("row ", row.number, " (line ", row.line, ")");
  }

  std::string column_text(std::size_t cell) const {
    std::string text = concat("column ", cell + 1);
    if (cell < column_of_.size()) text += concat(" (", quoted(cells_[column_of_[cell]].name), ")");
    return text;
  }

  Status read_header(const CsvRow& row) {
    std::vector<std::string> names;
    for (const std::string_view cell : row.cells) names.emplace_back(trim(cell));
    HEADRACE_CHECK(check_text(names));
    if (row.problem == CsvProblem::kTooManyCells)
      return invalid(concat("has a header of more than ", kMaxColumns, " columns"));
    if (row.problem != CsvProblem::kNone)
      return invalid(concat("has a malformed header: ", describe_problem(row).reason, ": ",
                            describe_problem(row).detail));
    HEADRACE_CHECK(check_delimiter(names));
    HEADRACE_TRY(const std::vector<std::size_t> order, sort_names(names));
    if (names_.empty()) return begin_table(std::move(names), order);
    return match_columns(names, order);
  }

  Status check_delimiter(const std::vector<std::string>& names) const {
    if (is_certain_ || names.size() != 1) return {};
    for (const char other : {';', ',', '\t', '|'}) {
      if (names.front().find(other) == std::string::npos) continue;
      const std::string_view shown = other == '\t' ? std::string_view("tab") : std::string_view(&other, 1);
      return invalid(concat("has a header of one column, ", quoted(names.front()),
                            ": if its columns are separated by ", shown == "tab" ? "tabs" : quoted(shown),
                            ", give --delimiter '", shown, "'; if it has only this one, give --delimiter '",
                            csv_options_.delimiter == '\t' ? std::string_view("tab")
                                                           : std::string_view(&csv_options_.delimiter, 1),
                            "'"));
    }
    return {};
  }

  // Fails if the header shows that the file cannot be read as text.
  Status check_text(const std::vector<std::string>& names) const {
    if (!names.empty() && begins_as_utf16(names.front())) return invalid(kIsUtf16);
    if (!names.empty() && names.front().starts_with("PK\x03\x04"))
      return invalid("is a spreadsheet workbook or a zip file: save its table as CSV");
    for (const std::string& name : names) {
      if (name.find('\0') != name.npos)
        return invalid("has zero bytes in its header: it is not text, or it is UTF-16; convert it to UTF-8");
      const std::size_t at = name.find('\r');
      if (at != name.npos && name[at + 1] != '\n')
        return invalid("has lines that end with CR alone: convert them to LF (tr '\\r' '\\n')");
    }
    return {};
  }

  // Returns the numbers of the columns, ascending by name.
  Result<std::vector<std::size_t>> sort_names(const std::vector<std::string>& names) const {
    std::vector<std::size_t> order(names.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::string& name = names[order[i]];
      if (name.empty())
        return invalid(
            concat("has a header without a name for column ", order[i] + 1, ": name every column"));
      if (i > 0 && name == names[order[i - 1]])
        return invalid(concat("has a header that names column ", order[i] + 1, " as column ",
                              order[i - 1] + 1, ", ", quoted(name), ": rename one"));
    }
    return order;
  }

  Status begin_table(std::vector<std::string> names, const std::vector<std::size_t>& order) {
    names_ = std::move(names);
    order_ = order;
    for (const std::string& name : names_) cells_.push_back({.name = name, .cell = {}});
    column_of_.resize(names_.size());
    for (std::size_t i = 0; i < column_of_.size(); ++i) column_of_[i] = i;
    return {};
  }

  Status match_columns(const std::vector<std::string>& names, const std::vector<std::size_t>& order) {
    for (std::size_t i = 0; i < std::max(order.size(), order_.size()); ++i) {
      const std::string* const here = i < order.size() ? &names[order[i]] : nullptr;
      const std::string* const there = i < order_.size() ? &names_[order_[i]] : nullptr;
      if (here != nullptr && there != nullptr && *here == *there) continue;
      if (there == nullptr || (here != nullptr && *here < *there)) {
        return invalid(concat("has a column ", order[i] + 1, ", ", quoted(*here),
                              ", that the first file of the table lacks: all files need the same header"));
      }
      return invalid(concat("has no column ", quoted(*there),
                            ", which the first file of the table has: all files need the same header"));
    }
    for (std::size_t i = 0; i < order.size(); ++i) column_of_[order[i]] = order_[i];
    return {};
  }

  SourceRow take(const CsvRow& row) {
    place_.row = row.number;
    SourceRow out{.place = place_, .id = id_.of(row.offset_bytes + mark_.size_bytes())};
    const bool is_sound = row.problem == CsvProblem::kNone && row.cells.size() == column_of_.size();
    bool fits = true;
    for (std::size_t i = 0; is_sound && i < row.cells.size(); ++i) {
      const std::string_view text = row.cells[i];
      fits = fits && text.size() <= cell_limit_bytes_;
      Cell& cell = cells_[column_of_[i]].cell;
      cell.kind = text.empty() ? CellKind::kMissing : CellKind::kBytes;
      cell.data = as_bytes(text);
    }
    if (is_sound && fits) {
      out.cells = cells_;
    } else {
      out.verdict = RowVerdict::kRejected;
      RowProblem problem = is_sound ? describe_large_cell(row) : describe_problem(row);
      out.reason = std::move(problem.reason);
      out.detail = std::move(problem.detail);
    }
    return out;
  }

  RowProblem describe_problem(const CsvRow& row) const {
    if (row.problem == CsvProblem::kNone || row.problem == CsvProblem::kTooManyCells) {
      const std::string_view more = row.problem == CsvProblem::kNone ? "" : "more than ";
      return {std::string(problem_text(CsvProblem::kTooManyCells)),
              concat(place_text(row), ": ", more, row.cells.size(), " cells, where the header has ",
                     column_of_.size())};
    }
    std::string what = concat(", ", column_text(row.problem_cell));
    // The message names no cell, because the cell depends on how the bytes were cut into pieces.
    if (row.problem == CsvProblem::kRowTooLarge)
      what = concat(": ", row.size_bytes, " bytes, at most ", csv_options_.max_row_bytes, " are read");
    if (row.problem == CsvProblem::kQuoteNotClosed)
      what += concat(": the ", row.size_bytes, " bytes from its row to the end of the file are lost");
    return {std::string(problem_text(row.problem)), concat(place_text(row), what)};
  }

  RowProblem describe_large_cell(const CsvRow& row) const {
    std::size_t cell = 0;
    while (row.cells[cell].size() <= cell_limit_bytes_) ++cell;
    return {"cell larger than the limit",
            concat(place_text(row), ", ", column_text(cell), ": ", row.cells[cell].size(), " bytes, at most ",
                   cell_limit_bytes_, " are read")};
  }

  const CsvOptions csv_options_;
  const bool is_certain_;
  const std::uint64_t cell_limit_bytes_;

  // State of the table.
  std::vector<std::string> names_;
  std::vector<std::size_t> order_;  // numbers of the columns, ascending by name
  std::vector<NamedCell> cells_;    // cells of the last row

  // State of the current file.
  std::string where_;
  RowId id_;
  RowPlace place_;
  ByteOrderMark mark_;
  std::optional<CsvReader> reader_;
  std::vector<std::size_t> column_of_;  // for each cell of a row of the file, its place in `cells_`
  bool has_header_ = false;
  bool is_ended_ = false;
};

}  // namespace

std::unique_ptr<RowParser> make_table_parser(const TableOptions& options) {
  return std::make_unique<TableParser>(options);
}

std::unique_ptr<RowSource> open_table(std::vector<SourceFile> files, const TableOptions& options) {
  return read_files(std::move(files), gzip_of_head, make_table_parser(options));
}

}  // namespace headrace
