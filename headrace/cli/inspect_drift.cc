#include "headrace/cli/inspect_drift.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/model_options.h"
#include "headrace/cli/requested_features.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"
#include "headrace/statistics/drift.h"
#include "headrace/statistics/read_split.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr int kDriftThreadsMax = 16;

// The split of a dataset that the log is compared with.
struct LearntFrom {
  std::string split;
  SplitStatistics statistics;
  FeatureVocabularies vocabularies;
  Schema schema;  // has no features if the dataset has no schema
};

Status read_schema(const DatasetAttributes& attributes, LearntFrom& out) {
  out.vocabularies = {attributes.vocabularies.begin(), attributes.vocabularies.end()};
  if (out.vocabularies.empty() && !attributes.labels.empty()) out.vocabularies["label"] = attributes.labels;
  if (attributes.schema.empty()) return {};
  HEADRACE_TRY(out.schema, parse_schema(attributes.schema, "the dataset's schema"));
  return {};
}

Result<LearntFrom> read_dataset(CommandContext& context, const Location& location,
                                const OptionValues& values) {
  HEADRACE_TRY(const auto published,
               open_version(location, {.number = data_version(values), .call = context.call()}));
  if (!published || published->manifest.kind != "dataset") {
    return Error{Code::kInvalidArgument, concat("--against is ", location.describe(),
                                                ", which is not a dataset of headrace prepare")};
  }
  HEADRACE_TRY(const DatasetAttributes attributes,
               parse_dataset_attributes(published->manifest.attributes_json));
  if (attributes.splits.empty())
    return Error{Code::kInvalidArgument, concat(location.describe(), " has no records")};
  LearntFrom out;
  out.split = attributes.splits.contains("train") ? "train" : attributes.splits.begin()->first;
  HEADRACE_CHECK(read_schema(attributes, out));
  ReadSplitOptions options{.most_records = static_cast<std::uint64_t>(values.integer("limit")),
                           .share = values.number("sample"),
                           .threads = std::min(available_cores(), kDriftThreadsMax),
                           .call = context.call()};
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    context.console.progress(concat("reading ", out.split), done, total, "records");
  };
  HEADRACE_TRY(const auto dataset, Dataset::open(location, {.split = out.split,
                                                            .version = data_version(values),
                                                            .on_corrupt = CorruptionPolicy::kSkipShard,
                                                            .call = context.call()}));
  HEADRACE_TRY(out.statistics, read_split(*dataset, out.vocabularies, options));
  // prepare made them from an image, so no request has them.
  for (const FeatureDefinition& feature : out.schema.features) {
    if (is_of_image(feature.type)) out.statistics.features.erase(feature.name);
  }
  return out;
}

// One slice for each file. Files that were written last come first; if times are equal, the last name does.
Result<Input> newest_first(const Location& log) {
  HEADRACE_TRY(Input input, find_input(log, InputFormat::kRequestLog, {.size_bytes = 0}));
  std::ranges::sort(input.slices, [](const Slice& a, const Slice& b) {
    const InputFile &x = a.files.front(), &y = b.files.front();
    return x.modified != y.modified ? x.modified > y.modified : x.url > y.url;
  });
  return input;
}

struct LoggedRows {
  SplitStatistics statistics;
  std::uint64_t rejected = 0;
};

Result<LoggedRows> read_log(CommandContext& context, const Location& location, const LearntFrom& learnt,
                            const OptionValues& values) {
  HEADRACE_TRY(const Input input, newest_first(location));
  const auto most = static_cast<std::uint64_t>(values.integer("limit"));
  RequestedFeatures features(learnt.schema);
  LoggedRows out;
  for (const Slice& slice : input.slices) {
    if (out.statistics.records >= most) break;
    HEADRACE_TRY(const auto rows, open_slice(input, slice, context.stores));
    while (out.statistics.records < most) {
      if (context.stop.stop_requested()) return Error{Code::kCancelled, "stopped"};
      HEADRACE_TRY(const auto row, rows->next());
      if (!row) break;
      if (row->verdict != RowVerdict::kRow) {
        ++out.rejected;
        continue;
      }
      out.statistics.add(features.of(*row), learnt.vocabularies, out.statistics.records);
    }
  }
  out.statistics.finish();
  if (out.statistics.records != 0) return out;
  return Error{Code::kInvalidArgument,
               concat(location.describe(), " has no rows of requests; ", out.rejected, " were rejected")};
}

}  // namespace

Status inspect_drift(CommandContext& context, const Location& log, const OptionValues& values) {
  HEADRACE_TRY(const Location dataset, context.stores.open(values.text("against")));
  HEADRACE_TRY(const LearntFrom learnt, read_dataset(context, dataset, values));
  HEADRACE_TRY(const LoggedRows logged, read_log(context, log, learnt, values));
  if (logged.rejected != 0)
    context.console.warn(concat(logged.rejected, " records or rows of the log could not be read"));
  const auto drifts = compare_features(learnt.statistics, logged.statistics, learnt.vocabularies);
  if (context.console.json()) {
    context.console.result(Json{{"log", log.url.text()},
                                {"rows", logged.statistics.records},
                                {"rejected", logged.rejected},
                                {"dataset", dataset.url.text()},
                                {"split", learnt.split},
                                {"records", learnt.statistics.records},
                                {"features", feature_drift_to_json(drifts)}}
                               .dump());
    return {};
  }
  const auto moved = std::ranges::count_if(drifts, &FeatureDrift::has_moved);
  const auto left_out =
      std::ranges::count_if(drifts, [](const FeatureDrift& each) { return each.compared.empty(); });
  context.console.result(concat(log.describe(), ": ", logged.statistics.records,
                                " rows of requests, against ", learnt.statistics.records, " records of ",
                                learnt.split, " in ", dataset.describe(), ": ", moved,
                                moved == 1 ? " feature has" : " features have", " moved, ", left_out,
                                " not compared", feature_drift_to_text(drifts)));
  return {};
}

}  // namespace headrace
