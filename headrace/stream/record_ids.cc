#include "headrace/stream/record_ids.h"

#include <algorithm>
#include <string>
#include <utility>

#include "headrace/codec/sample_path.h"
#include "headrace/record/manifest.h"

namespace headrace {
namespace {

bool has_only_tars(const Dataset& dataset) {
  return std::ranges::all_of(dataset.shards(),
                             [](const DatasetShard& shard) { return shard.encoding == ShardEncoding::kTar; });
}

Column text_column(std::string name) {
  return {.name = std::move(name), .type = DataType::kBytes, .length = 1, .required = false};
}

}  // namespace

std::optional<Column> id_column(const Dataset& dataset) {
  if (!dataset.attributes() && has_only_tars(dataset)) return text_column(std::string(kSampleKeyFeature));
  if (!dataset.attributes()) return std::nullopt;
  const std::string* const name = id_feature(*dataset.attributes());
  if (name == nullptr) return std::nullopt;
  const FeatureSchema& id = dataset.attributes()->features.at(*name);
  const auto& shape = id.shape;
  if (id.dtype != data_type_name(DataType::kBytes)) return std::nullopt;
  if (shape && std::ranges::any_of(*shape, [](std::int64_t size) { return size != 1; })) return std::nullopt;
  return text_column(*name);
}

std::string_view id_of(const Batch& batch, std::size_t column, std::size_t row) {
  const ColumnData ids = batch.data(column);
  const auto begin = static_cast<std::size_t>(ids.byte_offsets[row]);
  const auto end = static_cast<std::size_t>(ids.byte_offsets[row + 1]);
  return {reinterpret_cast<const char*>(ids.values) + begin, end - begin};
}

}  // namespace headrace
