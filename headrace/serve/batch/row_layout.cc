#include "headrace/serve/batch/row_layout.h"

#include <cstring>
#include <limits>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kSizeLimitBytes = std::uint64_t{1} << 32;

std::uint64_t element_bytes(DataType type) {
  return type == DataType::kBytes ? sizeof(TextPlace) : data_type_size_bytes(type);
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

// a · b, or a number above every limit if that overflows.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kSizeLimitBytes / b ? kSizeLimitBytes : a * b;
}

std::uint64_t row_bytes_of(const RowTensor& input) {
  std::uint64_t bytes = element_bytes(input.type);
  for (const std::int64_t size : input.shape.sizes())
    bytes = product(bytes, static_cast<std::uint64_t>(size));
  return bytes;
}

Shape with_rows(std::uint64_t rows, const Shape& row) {
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
  sizes.insert(sizes.end(), row.sizes().begin(), row.sizes().end());
  return Shape(sizes);
}

}  // namespace

BatchLayout::BatchLayout(std::vector<RowTensor> inputs, std::uint64_t rows_max, std::uint64_t texts_bytes)
    : inputs_(std::move(inputs)), rows_max_(rows_max), texts_bytes_(texts_bytes) {
  std::uint64_t offset = 0;
  for (const RowTensor& input : inputs_) {
    offsets_.push_back(offset);
    row_bytes_.push_back(row_bytes_of(input));
    offset = aligned(offset + rows_max_ * row_bytes_.back());
  }
  offsets_.push_back(offset);
}

std::uint64_t row_bytes_of(const std::vector<RowTensor>& inputs) {
  std::uint64_t bytes = 0;
  for (const RowTensor& input : inputs) bytes += row_bytes_of(input);
  return bytes;
}

Status check_layout(const std::vector<RowTensor>& inputs, std::uint64_t rows_max, std::uint64_t texts_bytes) {
  if (texts_bytes >= kSizeLimitBytes)
    return Error{Code::kInvalidArgument,
                 concat("texts of ", texts_bytes, " bytes; at most 4 GiB are possible")};
  std::uint64_t bytes = texts_bytes;
  for (const RowTensor& input : inputs) {
    if (input.shape.rank() >= Shape::kRankMax)
      return Error{Code::kInvalidArgument, concat("a row of rank ", input.shape.rank(), ": at most ",
                                                  Shape::kRankMax - 1, " is possible")};
    bytes += product(row_bytes_of(input), rows_max) + kTensorAlignment;
    if (bytes < kSizeLimitBytes) continue;
    return Error{Code::kInvalidArgument, concat(rows_max, " rows of ", data_type_name(input.type),
                                                input.shape.text(), " do not fit into a batch of 4 GiB")};
  }
  return {};
}

Result<std::string_view> text_at(const BatchLayout& layout, BytesView memory, const std::byte* place) {
  const std::string_view texts = as_text(memory).substr(layout.texts_offset(), layout.texts_bytes());
  TextPlace copied;  // copied before the check: the shared memory may change in the meantime
  std::memcpy(&copied, place, sizeof copied);
  if (copied.offset_bytes > texts.size() || copied.size_bytes > texts.size() - copied.offset_bytes)
    return Error{Code::kDataLoss, "a text lies outside its batch"};
  return texts.substr(copied.offset_bytes, copied.size_bytes);
}

Result<std::vector<TensorView>> tensors_of(const BatchLayout& layout, BytesView memory, std::uint64_t rows,
                                           std::vector<std::vector<std::string_view>>& views) {
  views.assign(layout.inputs().size(), {});
  std::vector<TensorView> tensors;
  for (std::size_t i = 0; i < layout.inputs().size(); ++i) {
    const RowTensor& input = layout.inputs()[i];
    const Shape shape = with_rows(rows, input.shape);
    const std::byte* const region = memory.data() + layout.offset(i);
    if (input.type != DataType::kBytes) {
      tensors.push_back({input.type, shape, region, {}});
      continue;
    }
    for (std::uint64_t k = 0; k < shape.elements(); ++k) {
      const auto text = text_at(layout, memory, region + k * sizeof(TextPlace));
      if (!text)
        return Error{Code::kDataLoss, concat("text ", k, " of input ", i, " lies outside its batch")};
      views[i].push_back(*text);
    }
    tensors.push_back(TensorView::of(views[i], shape));
  }
  return tensors;
}

}  // namespace headrace
