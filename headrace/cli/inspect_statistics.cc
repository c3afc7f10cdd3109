#include "headrace/cli/inspect_statistics.h"

#include "headrace/base/text.h"
#include "headrace/cli/model_options.h"
#include "headrace/os/parallel.h"
#include "headrace/page/html.h"
#include "headrace/statistics/dataset_report.h"

namespace headrace {
namespace {

constexpr std::size_t kSamples = 96;  // in total, for all splits
constexpr std::size_t kSamplesOfSplit = 24;
constexpr std::size_t kExamples = 20;  // for each reason
constexpr int kMaxThreads = 16;

Status read_origin(const PublishedFolder& published, const CallOptions& call, DatasetReport& report) {
  report.manifest = published.number;
  report.plan = published.manifest.plan;
  report.created_by = published.manifest.created_by;
  auto attributes = parse_dataset_attributes(published.manifest.attributes_json);
  if (!attributes) return std::move(attributes).error().in(report.url);
  report.attributes = *std::move(attributes);
  const auto& vocabularies = report.attributes.vocabularies;
  report.vocabularies = {vocabularies.begin(), vocabularies.end()};
  if (vocabularies.empty() && !report.attributes.labels.empty())
    report.vocabularies["label"] = report.attributes.labels;
  HEADRACE_TRY(report.reported, summarize_reports(published, kExamples, call));
  return {};
}

Result<DatasetReport> make_report(CommandContext& context, const Location& location,
                                  const std::optional<PublishedFolder>& published,
                                  const OptionValues& values) {
  DatasetReport report{.url = location.url.text()};
  std::vector<std::string> splits = {"train"};
  if (published) {
    HEADRACE_CHECK(read_origin(*published, context.call(), report));
    splits.clear();
    for (const auto& [split, counts] : report.attributes.splits) splits.push_back(split);
  }
  ReadSplitOptions options{.most_records = static_cast<std::uint64_t>(values.integer("limit")),
                           .share = values.number("sample"),
                           .threads = std::min(available_cores(), kMaxThreads),
                           .call = context.call()};
  const std::size_t samples =
      std::max<std::size_t>(1, std::min(kSamplesOfSplit, kSamples / std::max<std::size_t>(1, splits.size())));
  for (const std::string& split : splits) {
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      context.console.progress(concat("reading ", split), done, total, "records");
    };
    HEADRACE_TRY(const auto dataset, Dataset::open(location, {.split = split,
                                                              .version = data_version(values),
                                                              .on_corrupt = CorruptionPolicy::kSkipShard,
                                                              .call = context.call()}));
    SplitReport& to = report.splits[published ? split : "all"];
    HEADRACE_TRY(to.statistics, read_split(*dataset, report.vocabularies, options));
    if (values.has("html")) {
      HEADRACE_TRY(to.samples, read_samples(*dataset, to.statistics, samples, options));
    }
  }
  judge(report);
  return report;
}

std::string describe(const FeatureStatistics& feature, std::uint64_t records, bool is_label) {
  std::vector<std::string> words = {feature.dtype};
  if (feature.records < records) words.push_back(concat("missing in ", records - feature.records));
  const NumberSketch& numbers = feature.numbers;
  if (feature.values.is_complete() && feature.values.total() > feature.values.counts().size())
    words.push_back(concat(feature.values.counts().size(), " values"));
  if (numbers.count() > 0 && !is_label)
    words.push_back(concat("from ", shortened(numbers.minimum()), " to ", shortened(numbers.maximum()),
                           ", mean ", shortened(numbers.mean()), ", deviation ",
                           shortened(numbers.standard_deviation())));
  for (const auto& [format, count] : feature.images.formats.top(3))
    words.push_back(concat(count, " ", format, " images"));
  if (feature.sizes_bytes.count() > 0)
    words.push_back(concat(shortened(feature.sizes_bytes.minimum()), " to ",
                           shortened(feature.sizes_bytes.maximum()), " bytes"));
  return join(words, ", ");
}

std::string to_text(const DatasetReport& report) {
  std::string out;
  for (const auto& [name, split] : report.splits) {
    const SplitStatistics& statistics = split.statistics;
    out +=
        concat("\n  ", name, ": ", statistics.records, " of ", statistics.published_records, " records read");
    for (const auto& [feature, each] : statistics.features)
      out += concat("\n    ", feature, ": ",
                    describe(each, statistics.records, report.vocabularies.contains(feature)));
  }
  return out;
}

Status write_page(CommandContext& context, const std::string& url, const DatasetReport& report) {
  HEADRACE_TRY(const Location page, context.stores.open(url));
  HEADRACE_CHECK(write_text(*page.store, page.key, dataset_report_to_html(report), {.call = context.call()}));
  context.console.note(concat("the page is ", page.describe()));
  return {};
}

}  // namespace

Result<std::optional<RecordStatistics>> inspect_records(CommandContext& context, const Location& location,
                                                        const OptionValues& values) {
  const bool reads_records = values.flag("statistics") || values.has("html");
  if (!reads_records && !values.has("parquet")) return std::optional<RecordStatistics>();
  HEADRACE_TRY(const auto published,
               open_version(location, {.number = data_version(values), .call = context.call()}));
  if (published && published->manifest.kind != "dataset")
    return Error{Code::kInvalidArgument, concat(location.describe(), " is a ", published->manifest.kind,
                                                "; --html, --statistics and --parquet need a dataset")};
  if (values.has("parquet")) {
    if (!published)
      return Error{
          Code::kInvalidArgument,
          concat(location.describe(), " is not a dataset that headrace prepare made, so it has no report")};
    HEADRACE_CHECK(write_report_parquet(context, *published, values.text("parquet")));
  }
  if (!reads_records) return std::optional<RecordStatistics>();
  HEADRACE_TRY(const DatasetReport report, make_report(context, location, published, values));
  if (values.has("html")) HEADRACE_CHECK(write_page(context, values.text("html"), report));
  for (const std::string& warning : report.warnings) context.console.warn(warning);
  return std::optional(RecordStatistics{dataset_report_to_json(report), to_text(report)});
}

}  // namespace headrace
