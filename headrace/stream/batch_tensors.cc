#include "headrace/stream/batch_tensors.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostFilledBytes = 1 << 30;

// If `is_variable`, the column also holds the number of values in each record.
Column column_of(const ModelFeature& feature, bool is_variable) {
  if (feature.type == DataType::kUint8) return {.name = feature.name, .type = DataType::kBytes, .length = 1};
  Column column{.name = feature.name,
                .type = feature.type,
                .required = !feature.is_optional,
                .advice = "leave such records out with --on-corrupt skip-record"};
  if (feature.is_ragged) return column;
  const auto size = static_cast<std::uint32_t>(feature.size());
  (is_variable ? column.count_if_present : column.length) = size;
  return column;
}

ImageColumn image_of(const ModelFeature& feature) {
  return {.size = {.width = static_cast<std::uint32_t>(feature.shape[1]),
                   .height = static_cast<std::uint32_t>(feature.shape[0])},
          .channels = static_cast<std::uint32_t>(feature.shape[2])};
}

Shape with_rows(std::uint64_t rows, const std::vector<std::int64_t>& row_shape) {
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
  sizes.insert(sizes.end(), row_shape.begin(), row_shape.end());
  return Shape(sizes);
}

// Whether any of the features needs the number of values in each record.
bool is_variable(const std::vector<ModelFeature>& features, const std::string& name) {
  return std::ranges::any_of(features, [&](const ModelFeature& feature) {
    return feature.name == name && (feature.is_ragged || feature.is_mask);
  });
}

std::uint64_t row_size(const ColumnData& data, std::size_t row) {
  return static_cast<std::uint64_t>(data.row_offsets[row + 1] - data.row_offsets[row]);
}

// Memory for one value of a padded row. A byte string takes a view and TensorFlow's own string.
std::uint64_t value_bytes(const ModelFeature& feature) {
  constexpr std::uint64_t kTensorFlowStringBytes = 24;
  if (feature.is_mask) return sizeof(float);
  if (feature.type == DataType::kBytes) return sizeof(std::string_view) + kTensorFlowStringBytes;
  return data_type_size_bytes(feature.type);
}

// The number of values in a row once all rows are padded to the same length. Subtracts their memory from
// `left_bytes`.
Result<std::uint64_t> filled_size(const ModelFeature& feature, const ColumnData& data, std::uint64_t rows,
                                  std::uint64_t& left_bytes) {
  std::uint64_t longest = 1;
  for (std::size_t row = 0; row < rows; ++row) longest = std::max(longest, row_size(data, row));
  const std::uint64_t wanted = feature.is_ragged && feature.shape.front() < 0 ? longest : feature.size();
  const std::uint64_t each = value_bytes(feature);
  if (wanted <= left_bytes / rows / each) {
    left_bytes -= wanted * rows * each;
    return wanted;
  }
  return Error{Code::kResourceExhausted,
               concat("with ", rows, " rows of ", feature.name, " filled up to ", wanted,
                      " values each, the filled rows of a batch take more than 1 GiB; use a smaller "
                      "--batch-size, or let the model take fewer values")};
}

template <typename Value>
void fill_rows(const ColumnData& data, std::uint64_t rows, std::uint64_t size, std::byte* target) {
  const auto* const values = reinterpret_cast<const Value*>(data.values);
  auto* out = reinterpret_cast<Value*>(target);
  for (std::size_t row = 0; row < rows; ++row, out += size) {
    const std::uint64_t count = std::min(size, row_size(data, row));
    std::copy_n(values + data.row_offsets[row], count, out);
    std::fill(out + count, out + size, Value{});
  }
}

void fill_mask(const ColumnData& data, std::uint64_t rows, std::uint64_t size, std::byte* target) {
  auto* out = reinterpret_cast<float*>(target);
  for (std::size_t row = 0; row < rows; ++row, out += size) {
    const std::uint64_t count = std::min(size, row_size(data, row));
    std::fill_n(out, count, 1.0F);
    std::fill(out + count, out + size, 0.0F);
  }
}

std::string_view string_of(const ColumnData& data, std::size_t i) {
  const auto begin = static_cast<std::size_t>(data.byte_offsets[i]);
  const auto end = static_cast<std::size_t>(data.byte_offsets[i + 1]);
  return {reinterpret_cast<const char*>(data.values) + begin, end - begin};
}

void fill_strings(const ColumnData& data, std::uint64_t rows, std::uint64_t size,
                  std::vector<std::string_view>& out) {
  out.assign(rows * size, {});
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t count = std::min(size, row_size(data, row));
    for (std::size_t i = 0; i < count; ++i)
      out[row * size + i] = string_of(data, static_cast<std::size_t>(data.row_offsets[row]) + i);
  }
}

}  // namespace

BatchTensors::BatchTensors(std::vector<ModelFeature> features) : views_(features.size()) {
  for (const ModelFeature& feature : features) {
    const auto found = std::ranges::find(columns_, feature.name, &Column::name);
    sources_.push_back({.feature = feature,
                        .column = static_cast<std::size_t>(found - columns_.begin()),
                        .is_variable = is_variable(features, feature.name)});
    if (feature.type == DataType::kUint8) images_.emplace(feature.name, image_of(feature));
    if (found != columns_.end()) continue;
    columns_.push_back(headrace::column_of(feature, sources_.back().is_variable));
  }
}

LoaderOptions BatchTensors::options_in_order() const {
  LoaderOptions out;
  out.columns = columns_;
  out.images.columns = images_;
  out.shuffle = ShuffleMode::kNone;
  out.threads = 1;
  return out;
}

Result<std::span<const TensorView>> BatchTensors::view(const Batch& batch, std::uint64_t rows) {
  std::uint64_t left_bytes = kMostFilledBytes;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    const ColumnData data = batch.data(source.column);
    if (source.is_variable) {
      HEADRACE_CHECK(fill(source, data, rows, left_bytes, views_[i]));
      continue;
    }
    views_[i] = {
        .type = source.feature.type, .shape = with_rows(rows, source.feature.shape), .data = data.values};
    if (source.feature.type == DataType::kBytes) view_strings(source, data, rows, views_[i]);
  }
  return std::span<const TensorView>(views_);
}

Status BatchTensors::fill(Source& source, const ColumnData& data, std::uint64_t rows,
                          std::uint64_t& left_bytes, TensorView& view) {
  const ModelFeature& feature = source.feature;
  HEADRACE_TRY(const std::uint64_t size, filled_size(feature, data, rows, left_bytes));
  const Shape shape = feature.is_ragged
                          ? Shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(size)}
                          : with_rows(rows, feature.shape);
  if (feature.type == DataType::kBytes && !feature.is_mask) {
    fill_strings(data, rows, size, source.strings);
    view = TensorView::of(source.strings, shape);
    return {};
  }
  const DataType type = feature.is_mask ? DataType::kFloat32 : feature.type;
  source.filled.resize(rows * size * data_type_size_bytes(type));
  std::byte* const filled = source.filled.data();
  if (feature.is_mask) {
    fill_mask(data, rows, size, filled);
  } else if (type == DataType::kInt64) {
    fill_rows<std::int64_t>(data, rows, size, filled);
  } else {
    fill_rows<float>(data, rows, size, filled);
  }
  view = {.type = type, .shape = shape, .data = filled};
  return {};
}

void BatchTensors::view_strings(Source& source, const ColumnData& data, std::uint64_t rows,
                                TensorView& view) {
  source.strings.resize(rows * source.feature.size());
  for (std::size_t i = 0; i < source.strings.size(); ++i) source.strings[i] = string_of(data, i);
  view = TensorView::of(source.strings, view.shape);
}

}  // namespace headrace
