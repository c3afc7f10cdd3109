#include "headrace/stream/batch_tensors.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

Column column_of(const ModelFeature& feature) {
  if (feature.type == DataType::kUint8) return {.name = feature.name, .type = DataType::kBytes, .length = 1};
  return {.name = feature.name,
          .type = feature.type,
          .length = static_cast<std::uint32_t>(feature.size()),
          .required = !feature.is_optional,
          .advice = "leave such records out with --on-corrupt skip-record"};
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

}  // namespace

BatchTensors::BatchTensors(std::vector<ModelFeature> features)
    : features_(std::move(features)), views_(features_.size()), strings_(features_.size()) {
  for (const ModelFeature& feature : features_) {
    const auto found = std::ranges::find(columns_, feature.name, &Column::name);
    column_of_.push_back(static_cast<std::size_t>(found - columns_.begin()));
    if (found == columns_.end()) columns_.push_back(headrace::column_of(feature));
    if (feature.type == DataType::kUint8) images_.emplace(feature.name, image_of(feature));
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

std::span<const TensorView> BatchTensors::view(const Batch& batch, std::uint64_t rows) {
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const ModelFeature& feature = features_[i];
    const ColumnData data = batch.data(column_of_[i]);
    views_[i] = {.type = feature.type, .shape = with_rows(rows, feature.shape), .data = data.values};
    if (feature.type == DataType::kBytes) view_strings(data, i, rows);
  }
  return views_;
}

void BatchTensors::view_strings(const ColumnData& data, std::size_t feature, std::uint64_t rows) {
  std::vector<std::string_view>& strings = strings_[feature];
  strings.resize(rows * features_[feature].size());
  const auto* bytes = reinterpret_cast<const char*>(data.values);
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const auto begin = static_cast<std::size_t>(data.byte_offsets[i]);
    strings[i] = {bytes + begin, static_cast<std::size_t>(data.byte_offsets[i + 1]) - begin};
  }
  views_[feature] = TensorView::of(strings, views_[feature].shape);
}

}  // namespace headrace
