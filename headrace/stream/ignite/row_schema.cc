#include "headrace/stream/ignite/row_schema.h"

#include "headrace/base/text.h"

namespace headrace::ignite {

void RowSchema::add(const IgniteFeatures& row) {
  ++rows_;
  for (const IgniteFeature& feature : row.features) {
    auto found = seen_.find(feature.name);
    if (found == seen_.end()) {
      if (!has_room()) {
        is_cut_ = true;
        continue;
      }
      found = seen_.emplace(feature.name, Seen{feature.type, feature.value_count}).first;
    }
    Seen& seen = found->second;
    ++seen.rows;
    seen.has_types |= seen.type != feature.type;
    seen.has_lengths |= seen.value_count != feature.value_count;
  }
  for (const std::string& name : row.unsupported) {
    if (unsupported_.contains(name)) continue;
    is_cut_ |= !has_room();
    if (has_room()) unsupported_.insert(name);
  }
}

std::map<std::string, FeatureSchema> RowSchema::features() const {
  std::map<std::string, FeatureSchema> features;
  for (const auto& [name, seen] : seen_) {
    if (seen.has_types) continue;
    FeatureSchema schema{.dtype = std::string(data_type_name(seen.type)), .is_optional = seen.rows < rows_};
    if (!seen.has_lengths && seen.value_count == 1) schema.shape.emplace();
    if (!seen.has_lengths && seen.value_count > 1)
      schema.shape.emplace({static_cast<std::int64_t>(seen.value_count)});
    features.emplace(name, std::move(schema));
  }
  return features;
}

std::vector<std::string> RowSchema::remarks() const {
  std::vector<std::string> remarks;
  for (const std::string& name : unsupported_)
    remarks.push_back(concat("the Ignite field '", printable_line(name, 200),
                             "' cannot become a feature in some rows: it is left out of those rows"));
  for (const auto& [name, seen] : seen_) {
    if (!seen.has_types) continue;
    remarks.push_back(concat("the Ignite field '", printable_line(name, 200),
                             "' has different types in different rows: it is not a feature"));
  }
  if (is_cut_)
    remarks.push_back(concat("the rows have more than ", kIgniteFieldLimit,
                             " different fields: the remaining fields are not features"));
  return remarks;
}

}  // namespace headrace::ignite
