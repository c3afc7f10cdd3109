#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/page/html.h"
#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

constexpr std::size_t kPageBins = 20;
constexpr std::size_t kShownValues = 20;
constexpr std::size_t kShownInputs = 20;

std::string facts(const DatasetReport& report) {
  std::string out;
  for (const auto& [name, split] : report.splits)
    out += html_fact(grouped(split.statistics.published_records), concat("records of ", name));
  for (const char* const name : {"in", "written", "rejected", "dropped", "ignored"}) {
    const auto found = report.attributes.counts.find(name);
    if (found != report.attributes.counts.end())
      out += html_fact(grouped(found->second), concat(found->first == "in" ? "rows " : "", name));
  }
  return html_element("div", out, "facts");
}

std::string coverage(const DatasetReport& report) {
  std::string out;
  for (const auto& [name, split] : report.splits) {
    const SplitStatistics& statistics = split.statistics;
    const std::uint64_t read = statistics.records + statistics.damaged;
    if (read < statistics.published_records)
      out += html_hint(concat("Only ", grouped(read), " of ", grouped(statistics.published_records),
                              " records of ", name, " were read; the figures below describe those records."));
    if (statistics.has_more_features)
      out +=
          html_hint(concat("Only ", SplitStatistics::kMaxFeatures, " features of ", name, " are described."));
  }
  return out;
}

// Makes a table with a row for each split. All histograms span the common range of the splits, so that they
// can be compared.
std::string numbers_table(const std::vector<std::pair<std::string, const NumberSketch*>>& sketches) {
  double low = 0, high = 0;
  bool is_first = true;
  for (const auto& [name, sketch] : sketches) {
    if (sketch->count() == 0) continue;
    low = is_first ? sketch->minimum() : std::min(low, sketch->minimum());
    high = is_first ? sketch->maximum() : std::max(high, sketch->maximum());
    is_first = false;
  }
  std::vector<std::string> rows;
  for (const auto& [name, sketch] : sketches) {
    if (sketch->count() == 0) continue;
    std::vector<std::string> cells = {html_escaped(name), shortened(sketch->mean()),
                                      shortened(sketch->standard_deviation()), grouped(sketch->zeros())};
    for (const double share : {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0})
      cells.push_back(shortened(sketch->quantile(share)));
    cells.push_back(html_histogram(sketch->histogram(low, high, kPageBins),
                                   concat(name, ", from ", shortened(low), " to ", shortened(high))));
    rows.push_back(html_row(cells));
  }
  if (rows.empty()) return {};
  return html_table(
      {"", "mean", "deviation", "zeros", "least", "5 %", "25 %", "median", "75 %", "95 %", "greatest", ""},
      rows);
}

using NamedFeatures = std::vector<std::pair<std::string, const FeatureStatistics*>>;  // by split

std::string sketch_part(const NamedFeatures& splits, std::string_view title,
                        const NumberSketch& (*of)(const FeatureStatistics&)) {
  std::vector<std::pair<std::string, const NumberSketch*>> sketches;
  for (const auto& [name, feature] : splits) sketches.emplace_back(name, &of(*feature));
  const std::string table = numbers_table(sketches);
  return table.empty() ? table : concat(html_element("h3", html_escaped(title)), table);
}

std::string counts_text(const ValueCounts& counts) {
  std::vector<std::string> words;
  for (const auto& [value, count] : counts.top(kShownValues))
    words.push_back(concat(grouped(count), " ", value));
  return html_escaped(join(words, ", "));
}

std::string images_part(const NamedFeatures& splits) {
  std::vector<std::string> rows;
  for (const auto& [name, feature] : splits) {
    if (feature->images.count == 0) continue;
    rows.push_back(html_row(
        {html_escaped(name), counts_text(feature->images.formats), counts_text(feature->images.channels)}));
  }
  if (rows.empty()) return {};
  return concat(
      html_table({"images", "formats", "channels"}, rows),
      sketch_part(splits, "Height in pixels",
                  [](const FeatureStatistics& of) -> const NumberSketch& { return of.images.heights; }),
      sketch_part(splits, "Width in pixels",
                  [](const FeatureStatistics& of) -> const NumberSketch& { return of.images.widths; }));
}

// Shows the most frequent values of all splits together, and how often they occur in each split.
std::string values_part(const NamedFeatures& splits) {
  ValueCounts all;
  for (const auto& [name, feature] : splits) all.merge(feature->values);
  if (!all.is_complete() || all.total() == 0 || all.counts().size() == all.total()) return {};
  std::vector<std::string> heading = {concat(all.counts().size(), " values")};
  for (const auto& [name, feature] : splits) heading.push_back(html_escaped(name));
  std::vector<std::string> rows;
  for (const auto& [value, total] : all.top(kShownValues)) {
    std::vector<std::string> cells = {html_escaped(value)};
    for (const auto& [name, feature] : splits) {
      const std::uint64_t count = feature->values.count_of(value), of = feature->values.total();
      const double share = of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
      cells.push_back(
          concat(grouped(count), " · ", percentage(share), " <meter value=\"", share, "\"></meter>"));
    }
    rows.push_back(html_row(cells));
  }
  return html_table(heading, rows);
}

std::string records_part(const DatasetReport& report, const NamedFeatures& splits) {
  std::vector<std::string> rows;
  for (const auto& [name, feature] : splits) {
    const std::uint64_t records = report.splits.at(name).statistics.records;
    rows.push_back(html_row({html_escaped(name), html_escaped(feature->dtype), grouped(feature->records),
                             grouped(records - feature->records), grouped(feature->numbers.not_finite())}));
  }
  return html_table({"", "type", "records", "missing", "not finite"}, rows);
}

std::string feature_card(const DatasetReport& report, const std::string& name) {
  NamedFeatures splits;
  bool has_several = false;
  for (const auto& [split, each] : report.splits) {
    const auto found = each.statistics.features.find(name);
    if (found == each.statistics.features.end()) continue;
    splits.emplace_back(split, &found->second);
    has_several |= found->second.lengths.minimum() != found->second.lengths.maximum();
  }
  std::string content = concat(records_part(report, splits), values_part(splits), images_part(splits));
  if (!report.vocabularies.contains(name))
    content += sketch_part(splits, "Numbers",
                           [](const FeatureStatistics& of) -> const NumberSketch& { return of.numbers; });
  content += sketch_part(splits, "Size in bytes",
                         [](const FeatureStatistics& of) -> const NumberSketch& { return of.sizes_bytes; });
  if (has_several)
    content += sketch_part(splits, "Values of a record",
                           [](const FeatureStatistics& of) -> const NumberSketch& { return of.lengths; });
  return html_card(name, content, "feature");
}

std::string sample_figure(const SampleRecord& sample) {
  std::string content;
  for (const auto& [feature, jpeg] : sample.preview.thumbnails) content += html_jpeg(jpeg, feature);
  std::string caption = html_escaped(sample.label.empty() ? concat("record ", sample.record) : sample.label);
  for (const auto& [feature, text] : sample.preview.texts)
    caption += concat("<br><b>", html_escaped(feature), "</b> ", html_escaped(text));
  return html_element("figure", concat(content, html_element("figcaption", caption)));
}

std::string samples_card(const std::string& split, const std::vector<SampleRecord>& samples) {
  if (samples.empty()) return {};
  std::string figures;
  bool has_images = false;
  for (const SampleRecord& sample : samples) {
    figures += sample_figure(sample);
    has_images |= !sample.preview.thumbnails.empty();
  }
  return html_card(concat("Records of ", split),
                   html_element("div", figures, has_images ? "samples" : "samples texts"));
}

std::string distances_card(const DatasetReport& report) {
  if (report.distances.empty()) return {};
  std::vector<std::string> rows;
  for (const SplitDistance& each : report.distances)
    rows.push_back(
        html_row({html_escaped(each.feature), html_escaped(concat(each.from, ", ", each.to)),
                  percentage(each.distance), html_escaped(each.where), each.is_notable ? "notable" : ""}));
  return html_card(
      "Differences between splits",
      concat(html_hint("The greatest difference between the shares of a value in two splits; for numbers, "
                       "between their cumulative shares."),
             html_table({"feature", "splits", "difference", "most in", ""}, rows)));
}

std::string reported_card(const DatasetReport& report) {
  std::string content;
  for (const auto& [kind, rows] : report.reported) {
    content +=
        html_element("h3", html_escaped(concat(grouped(rows.count), " ", kind.first, ": ", kind.second)));
    std::vector<std::string> lines;
    for (const ReportedRow& row : rows.examples) {
      const std::string place = row.row > 0 ? concat(row.source, ", row ", grouped(row.row)) : row.source;
      lines.push_back(html_row({html_escaped(row.id), html_escaped(place), html_escaped(row.detail)}));
    }
    content += html_table({"row", "file", "detail"}, lines);
  }
  return content.empty() ? content : html_card("Reported rows", content);
}

std::string origin_card(const DatasetReport& report) {
  const DatasetAttributes& attributes = report.attributes;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < std::min(attributes.inputs.size(), kShownInputs); ++i) {
    const InputDescription& input = attributes.inputs[i];
    rows.push_back(
        html_row({html_escaped(input.url), format_size(input.size_bytes), html_escaped(input.version)}));
  }
  std::string content = rows.empty() ? "" : html_table({"input", "size", "version"}, rows);
  if (attributes.inputs.size() > kShownInputs)
    content += html_hint(concat("and ", attributes.inputs.size() - kShownInputs, " more"));
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : attributes.reasons)
    reasons.push_back(html_row({html_escaped(reason), grouped(count)}));
  if (!reasons.empty()) content += html_table({"reason", "rows"}, reasons);
  if (!attributes.schema.empty())
    content += concat(html_element("h3", "Schema"), html_element("pre", html_escaped(attributes.schema)));
  return content.empty() ? content : html_card("Origin", content);
}

std::vector<std::string> feature_names(const DatasetReport& report) {
  std::vector<std::string> names;
  for (const auto& [split, each] : report.splits) {
    for (const auto& [name, feature] : each.statistics.features) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::string dataset_report_to_html(const DatasetReport& report) {
  std::string body = html_element("h1", html_escaped(report.url));
  if (report.manifest > 0)
    body += html_hint(concat("manifest ", report.manifest, ", made by run ", report.created_by, ", plan ",
                             report.plan.substr(0, 8)));
  body += concat(facts(report), html_warnings(report.warnings), coverage(report));
  for (const auto& [name, split] : report.splits) body += samples_card(name, split.samples);
  for (const std::string& name : feature_names(report)) body += feature_card(report, name);
  body += concat(distances_card(report), reported_card(report), origin_card(report));
  return html_document(report.url, body);
}

}  // namespace headrace
