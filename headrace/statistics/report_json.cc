
#include "headrace/base/json.h"
#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

constexpr std::size_t kBins = 20;
constexpr std::size_t kTopValues = 50;

Json sketch_json(const NumberSketch& sketch) {
  Json out = {{"count", sketch.count()},     {"zeros", sketch.zeros()},
              {"minimum", sketch.minimum()}, {"maximum", sketch.maximum()},
              {"mean", sketch.mean()},       {"standard_deviation", sketch.standard_deviation()},
              {"quantiles", Json::object()}, {"not_finite", sketch.not_finite()}};
  for (const auto& [name, share] :
       {std::pair("0.05", 0.05), {"0.25", 0.25}, {"0.5", 0.5}, {"0.75", 0.75}, {"0.95", 0.95}})
    out["quantiles"][name] = sketch.quantile(share);
  out["histogram"] = sketch.histogram(sketch.minimum(), sketch.maximum(), kBins);
  return out;
}

Json values_json(const ValueCounts& values) {
  Json out = Json::object();
  for (const auto& [value, count] : values.top(kTopValues)) out[value] = count;
  return out;
}

Json feature_json(const FeatureStatistics& feature, std::uint64_t records) {
  Json out = {{"dtype", feature.dtype},
              {"records", feature.records},
              {"missing", records - feature.records},
              {"values_per_record", sketch_json(feature.lengths)}};
  if (feature.numbers.count() + feature.numbers.not_finite() > 0)
    out["numbers"] = sketch_json(feature.numbers);
  if (feature.sizes_bytes.count() > 0) {
    out["size_bytes"] = sketch_json(feature.sizes_bytes);
    out["texts"] = feature.texts;
  }
  if (feature.values.is_complete()) {
    out["distinct"] = feature.values.counts().size();
    out["values"] = values_json(feature.values);
  }
  if (feature.images.count > 0) {
    out["images"] = {{"count", feature.images.count},
                     {"formats", values_json(feature.images.formats)},
                     {"channels", values_json(feature.images.channels)},
                     {"height", sketch_json(feature.images.heights)},
                     {"width", sketch_json(feature.images.widths)}};
  }
  return out;
}

Json split_json(const SplitStatistics& split) {
  Json out = {{"records", split.published_records},
              {"read", split.records},
              {"damaged", split.damaged},
              {"duplicates", split.duplicates()},
              {"features", Json::object()}};
  for (const auto& [name, feature] : split.features)
    out["features"][name] = feature_json(feature, split.records);
  return out;
}

Json reported_json(const DatasetReport& report) {
  Json out = Json::array();
  for (const auto& [kind, rows] : report.reported) {
    Json examples = Json::array();
    for (const ReportedRow& row : rows.examples)
      examples.push_back({{"id", row.id}, {"detail", row.detail}, {"source", row.source}, {"row", row.row}});
    out.push_back(
        {{"status", kind.first}, {"reason", kind.second}, {"rows", rows.count}, {"examples", examples}});
  }
  return out;
}

}  // namespace

Json dataset_report_to_json(const DatasetReport& report) {
  Json out = {{"splits", Json::object()},
              {"distances", Json::array()},
              {"warnings", report.warnings},
              {"reported", reported_json(report)}};
  for (const auto& [name, split] : report.splits) out["splits"][name] = split_json(split.statistics);
  for (const SplitDistance& each : report.distances) {
    out["distances"].push_back({{"feature", each.feature},
                                {"from", each.from},
                                {"to", each.to},
                                {"distance", each.distance},
                                {"where", each.where},
                                {"notable", each.is_notable}});
  }
  return out;
}

}  // namespace headrace
