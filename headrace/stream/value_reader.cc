#include "headrace/stream/value_reader.h"

#include <algorithm>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/stream/one_hot.h"

namespace headrace {
namespace {

constexpr std::size_t kRemarks = 100;

Error refusal(const WindowArrangement& arrangement, std::string_view why) {
  return {Code::kInvalidArgument,
          concat(arrangement_name(arrangement.kind), " by ", arrangement.feature.name, ": ", why)};
}

// Advice for a name that the dataset does not have.
std::string advice_on(const std::string& name, const DatasetAttributes& attributes) {
  std::vector<std::string> names;
  for (const auto& [known, schema] : attributes.features) names.push_back(known);
  const std::optional<std::string> nearest = nearest_name(name, names);
  return nearest ? concat("did you mean ", *nearest, "?") : concat("it has: ", join(names, ", "));
}

DataType type_of(const FeatureSchema& schema) {
  if (schema.dtype == data_type_name(DataType::kInt64)) return DataType::kInt64;
  return schema.dtype == data_type_name(DataType::kBytes) ? DataType::kBytes : DataType::kFloat32;
}

// None for a ragged feature; 0 if the feature has more values than a column can have.
std::optional<std::uint32_t> length_of(const FeatureSchema& schema) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (!schema.shape) return std::nullopt;
  std::uint64_t length = 1;
  for (const std::int64_t size : *schema.shape) {
    if (size < 0 || static_cast<std::uint64_t>(size) > kMost) return 0;
    length *= static_cast<std::uint64_t>(size);
    if (length > kMost) return 0;
  }
  return static_cast<std::uint32_t>(length);
}

Error unknown_feature(const Dataset& dataset, const WindowArrangement& arrangement) {
  return refusal(arrangement, concat(dataset.describe(), " has no such feature; ",
                                     advice_on(arrangement.feature.name, *dataset.attributes())));
}

Status check_kind(const WindowArrangement& arrangement) {
  const Column& feature = arrangement.feature;
  if (arrangement.kind == ArrangementKind::kBucket) {
    if (!feature.length) return {};
    return refusal(arrangement, concat("it is ", describe_column(feature),
                                       ", which has the same length in every record; name a ragged feature"));
  }
  const bool is_class =
      feature.length && *feature.length > 0 &&
      (feature.type == DataType::kInt64 || (feature.type == DataType::kFloat32 && *feature.length > 1));
  if (is_class) return {};
  return refusal(arrangement, concat("it is ", describe_column(feature),
                                     "; name a label that is a class number (int64) or one-hot"));
}

}  // namespace

Result<WindowArrangement> find_arrangement(const Dataset& dataset, ArrangementKind kind,
                                           const std::string& name) {
  WindowArrangement out{.kind = kind, .feature = {.name = name}};
  const auto found = dataset.attributes()->features.find(name);
  if (found == dataset.attributes()->features.end()) return unknown_feature(dataset, out);
  out.feature.type = type_of(found->second);
  out.feature.length = length_of(found->second);
  HEADRACE_CHECK(check_arrangement(dataset, out));
  return out;
}

Status check_arrangement(const Dataset& dataset, const WindowArrangement& arrangement) {
  HEADRACE_CHECK(check_kind(arrangement));
  if (!dataset.attributes()) return {};
  const Column& feature = arrangement.feature;
  const auto found = dataset.attributes()->features.find(feature.name);
  if (found == dataset.attributes()->features.end()) return unknown_feature(dataset, arrangement);
  const Column there{.type = type_of(found->second), .length = length_of(found->second)};
  if (there.type != feature.type || there.length != feature.length)
    return refusal(arrangement, concat("it is wanted as ", describe_column(feature), ", but in ",
                                       dataset.describe(), " it is ", describe_column(there)));
  const bool is_vector = arrangement.kind == ArrangementKind::kBalance && *feature.length > 1;
  if (!is_vector || dataset.attributes()->vocabularies.contains(feature.name)) return {};
  return refusal(arrangement, concat("it is ", describe_column(feature),
                                     " without a vocabulary, so it is not a one-hot label; name a label"));
}

std::vector<Column> columns_to_load(std::vector<Column> columns, const WindowArrangement& arrangement) {
  const bool has_all = arrangement.kind == ArrangementKind::kNone || columns.empty() ||
                       std::ranges::find(columns, arrangement.feature.name, &Column::name) != columns.end();
  if (!has_all) columns.push_back(arrangement.feature);
  return columns;
}

Result<ValueReader> ValueReader::create(const Dataset& dataset, CorruptionPolicy policy,
                                        const WindowArrangement& arrangement) {
  HEADRACE_TRY(
      ExampleDecoder decoder,
      ExampleDecoder::create(
          {{.name = arrangement.feature.name, .type = arrangement.feature.type, .required = false}}));
  return ValueReader(dataset, policy, arrangement, std::move(decoder));
}

ValueReader::ValueReader(const Dataset& dataset, CorruptionPolicy policy, WindowArrangement arrangement,
                         ExampleDecoder decoder)
    : dataset_(dataset),
      policy_(policy),
      arrangement_(std::move(arrangement)),
      decoder_(std::move(decoder)) {}

Result<std::int64_t> ValueReader::read(std::uint32_t shard, std::uint64_t record, BytesView data) {
  Result<std::int64_t> value = value_of(data);
  if (value) return value;
  Error error = std::move(value).error().in(concat(arrangement_name(arrangement_.kind), ": record ", record,
                                                   " of ", dataset_.describe_shard(shard)));
  if (policy_ == CorruptionPolicy::kFail) {
    if (error.code == Code::kInvalidArgument)
      error.message += "; correct it, or let such records keep their places with --on-corrupt skip-record";
    return with_advice(std::move(error));
  }
  if (remarks_.size() < kRemarks) remarks_.push_back(std::move(error.message));
  return kNoValue;
}

Result<std::int64_t> ValueReader::value_of(BytesView data) {
  floats_.clear();
  integers_.clear();
  strings_.clear();
  const DataType type = arrangement_.feature.type;
  ColumnBuffer buffer = &strings_;
  if (type == DataType::kFloat32) buffer = &floats_;
  if (type == DataType::kInt64) buffer = &integers_;
  HEADRACE_CHECK(decoder_.decode(data, {&buffer, 1}, 0));
  if (arrangement_.kind == ArrangementKind::kBalance) return class_in_values();
  return static_cast<std::int64_t>(floats_.size() + integers_.size() + strings_.size());
}

// Reads a feature that is a class.
Result<std::int64_t> ValueReader::class_in_values() const {
  const Column& feature = arrangement_.feature;
  const bool is_number = *feature.length == 1;
  const std::size_t size = floats_.size() + integers_.size();
  std::optional<std::int64_t> value;
  if (size == *feature.length) {
    if (is_number) {
      value = integers_.front();
    } else {
      value = feature.type == DataType::kInt64 ? place_of_one(std::span<const std::int64_t>(integers_))
                                               : place_of_one(std::span<const float>(floats_));
    }
  }
  if (value && *value != kNoValue) return *value;
  std::string_view why = is_number ? "not one class number" : "not one-hot";
  if (size == 0) why = "the record does not have it";
  return Error{Code::kInvalidArgument, concat("feature \"", feature.name, "\": ", why)};
}

}  // namespace headrace
