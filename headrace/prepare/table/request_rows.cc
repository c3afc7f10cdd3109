// Rows of requests that a server has logged.

#include <algorithm>
#include <deque>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/table/json_cells.h"
#include "headrace/prepare/table/record_rows.h"
#include "headrace/record/logged_request.h"

namespace headrace {
namespace {

constexpr std::string_view kRowInput = "row";

RowProblem no_request(std::string_view detail) { return {"not a PredictLog", std::string(detail)}; }

class RequestRows final : public RecordRows {
 public:
  explicit RequestRows(std::uint64_t cell_limit_bytes) : cell_limit_bytes_(cell_limit_bytes) {}

  std::optional<RowProblem> begin(BytesView record) override {
    columns_.clear();
    rows_ = 0;
    const auto request = logged_predict_request(record);
    if (!request) return no_request(request.error().message);
    if (!*request) return no_request("it logs a request of another kind");
    const auto inputs = inputs_of_request(**request);
    if (!inputs) return no_request(inputs.error().message);
    if (inputs->size() > kMaxColumns)
      return RowProblem{"too many columns", concat("more than ", kMaxColumns)};
    std::uint64_t elements_left = cell_limit_bytes_ / sizeof(std::int64_t);
    for (const LoggedInput& input : *inputs) {
      auto values = tensor_values(input.tensor, elements_left);
      if (!values) return no_request(concat(printable_line(input.name, 60), ": ", values.error().message));
      elements_left -= input.tensor.element_count;
      columns_.push_back({input.name, *std::move(values), input.tensor.element_count});
    }
    count_rows(*inputs);
    return std::nullopt;
  }

  std::uint64_t rows() const override { return rows_; }

  std::optional<RowProblem> read(std::uint64_t row) override {
    cells_.clear();
    decoded_.clear();
    if (has_objects_) {
      const auto& texts = std::get<std::vector<BytesView>>(columns_.front().values);
      return read_json_object(as_text(texts[row]), cell_limit_bytes_, cells_);
    }
    for (const Column& column : columns_) {
      const std::uint64_t count = column.elements / rows_;
      std::visit([&](const auto& values) { add(column.name, std::span(values).subspan(row * count, count)); },
                 column.values);
    }
    return std::nullopt;
  }

  std::span<const NamedCell> cells() override {
    const auto cells = cells_.cells();
    shown_.assign(cells.begin(), cells.end());
    if (!has_objects_) return shown_;
    for (NamedCell& each : shown_) {
      if (each.cell.kind != CellKind::kBytes) continue;
      if (auto bytes = bytes_of_base64_object(as_text(each.cell.data)))
        each.cell.data = decoded_.emplace_back(*std::move(bytes));
    }
    return shown_;
  }

 private:
  struct Column {
    std::string_view name;
    TensorValues values;
    std::uint64_t elements = 0;
  };

  void count_rows(const std::vector<LoggedInput>& inputs) {
    has_objects_ = false;
    if (inputs.empty()) return;
    const auto rows_of = [](const LoggedInput& input) {
      return input.tensor.rank > 0 ? input.tensor.sizes[0] : std::int64_t{-1};
    };
    const std::int64_t first = rows_of(inputs.front());
    const bool have_rows =
        first >= 0 && std::ranges::all_of(inputs, [&](const auto& input) { return rows_of(input) == first; });
    rows_ = have_rows ? static_cast<std::uint64_t>(first) : 1;
    const auto* const texts = std::get_if<std::vector<BytesView>>(&columns_.front().values);
    has_objects_ = inputs.size() == 1 && inputs.front().name == kRowInput && texts != nullptr &&
                   texts->size() == rows_ &&
                   std::ranges::all_of(*texts, [](BytesView text) { return as_text(text).starts_with('{'); });
  }

  void add(std::string_view name, std::span<const BytesView> texts) {
    if (texts.size() == 1) return cells_.add_bytes(name, texts.front());
    const std::size_t begin = cells_.made().size();
    for (const BytesView text : texts) append_byte_string(cells_.made(), text);
    cells_.add_made(name, CellKind::kByteStrings, begin);
  }
  template <typename Number>
  void add(std::string_view name, std::span<const Number> numbers) {
    const std::size_t begin = cells_.made().size();
    for (const Number number : numbers) append_little_endian(cells_.made(), number);
    cells_.add_made(name, std::is_same_v<Number, float> ? CellKind::kFloats : CellKind::kInt64s, begin);
  }

  const std::uint64_t cell_limit_bytes_;
  std::vector<Column> columns_;
  std::uint64_t rows_ = 0;
  bool has_objects_ = false;  // each row is a JSON object
  RowCells cells_;
  std::vector<NamedCell> shown_;
  std::deque<Bytes> decoded_;
};

}  // namespace

std::unique_ptr<RecordRows> make_request_rows(std::uint64_t cell_limit_bytes) {
  return std::make_unique<RequestRows>(cell_limit_bytes);
}

}  // namespace headrace
