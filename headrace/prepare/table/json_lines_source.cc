#include "headrace/prepare/table/json_lines_source.h"

#include "headrace/base/text.h"
#include "headrace/prepare/table/byte_order_mark.h"
#include "headrace/prepare/table/json_cells.h"
#include "headrace/prepare/table/line_reader.h"

namespace headrace {
namespace {

class JsonLinesParser final : public RowParser {
 public:
  explicit JsonLinesParser(std::uint64_t cell_limit_bytes) : cell_limit_bytes_(cell_limit_bytes) {}

  void begin_file(std::string_view where, std::string_view name, std::uint32_t number) override {
    where_ = where;
    id_.begin_file(name);
    place_ = {.file = number};
    reader_.emplace(row_limit_bytes(cell_limit_bytes_));
  }
  void feed(BytesView piece) override { reader_->feed(piece); }
  void end_file() override { reader_->finish(); }

  Result<std::optional<SourceRow>> next() override {
    while (const std::optional<Line> line = reader_->next()) {
      std::string_view text = line->text;
      if (line->offset_bytes == 0 && begins_as_utf16(text))
        return Error{Code::kInvalidArgument, concat(where_, " ", kIsUtf16)};
      // In a file joined from several, lines other than the first may begin with a mark.
      if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
      if (line->is_too_long || !trim(text).empty()) return std::optional(take(*line, text));
    }
    return std::optional<SourceRow>();
  }

 private:
  SourceRow take(const Line& line, std::string_view text) {
    place_.row = line.number;
    SourceRow row{.place = place_, .id = id_.of(line.offset_bytes)};
    cells_.clear();
    std::optional<RowProblem> problem;
    if (line.is_too_long) {
      problem = {"row larger than the limit",
                 concat("at most ", row_limit_bytes(cell_limit_bytes_), " bytes are read")};
    } else {
      problem = read_json_object(text, cell_limit_bytes_, cells_);
    }
    if (!problem) {
      row.cells = cells_.cells();
    } else {
      row.verdict = RowVerdict::kRejected;
      row.reason = std::move(problem->reason);
      row.detail = concat("line ", line.number, ": ", problem->detail);
    }
    return row;
  }

  const std::uint64_t cell_limit_bytes_;
  RowCells cells_;
  std::string where_;
  RowId id_;
  RowPlace place_;
  std::optional<LineReader> reader_;
};

}  // namespace

std::unique_ptr<RowParser> make_json_lines_parser(std::uint64_t cell_limit_bytes) {
  return std::make_unique<JsonLinesParser>(cell_limit_bytes);
}

std::unique_ptr<RowSource> open_json_lines(std::vector<SourceFile> files, std::uint64_t cell_limit_bytes) {
  return read_files(std::move(files), gzip_of_head, make_json_lines_parser(cell_limit_bytes));
}

}  // namespace headrace
