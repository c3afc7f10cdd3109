#include "headrace/cli/inspect_drift.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/model_options.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/row/byte_strings.h"
#include "headrace/prepare/schema/schema.h"
#include "headrace/prepare/source/input.h"
#include "headrace/statistics/drift.h"
#include "headrace/statistics/read_split.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr int kDriftThreadsMax = 16;

// A dataset's split, and how the columns of raw rows are called there.
struct LearntFrom {
  std::string split;
  SplitStatistics statistics;
  FeatureVocabularies vocabularies;
  std::multimap<std::string, std::string, std::less<>> features_of_column;
};

Status read_schema(const DatasetAttributes& attributes, LearntFrom& out) {
  out.vocabularies = {attributes.vocabularies.begin(), attributes.vocabularies.end()};
  if (out.vocabularies.empty() && !attributes.labels.empty()) out.vocabularies["label"] = attributes.labels;
  if (attributes.schema.empty()) return {};
  HEADRACE_TRY(const Schema schema, parse_schema(attributes.schema, "the dataset's schema"));
  for (const FeatureDefinition& feature : schema.features) {
    const bool is_named_so = feature.columns.size() == 1 && !is_of_image(feature.type);
    if (is_named_so) out.features_of_column.emplace(feature.columns.front(), feature.name);
  }
  return {};
}

Result<LearntFrom> read_dataset(CommandContext& context, const Location& location,
                                const OptionValues& values) {
  HEADRACE_TRY(const auto published,
               open_version(location, {.number = data_version(values), .call = context.call()}));
  if (!published || published->manifest.kind != "dataset") {
    return Error{Code::kInvalidArgument,
                 concat("--against is ", location.describe(), ", which is no dataset of headrace prepare")};
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
  return out;
}

template <typename Number>
std::vector<Number> numbers_of(BytesView data) {
  std::vector<Number> out;
  for (std::size_t at = 0; at + sizeof(Number) <= data.size(); at += sizeof(Number))
    out.push_back(load_little_endian<Number>(data.data() + at));
  return out;
}

Feature feature_of(std::string name, const Cell& cell) {
  Feature out{std::move(name), {}};
  if (cell.kind == CellKind::kBytes) out.values = std::vector<BytesView>{cell.data};
  if (cell.kind == CellKind::kFloats) out.values = numbers_of<float>(cell.data);
  if (cell.kind == CellKind::kInt64s) out.values = numbers_of<std::int64_t>(cell.data);
  if (cell.kind == CellKind::kByteStrings) {
    std::vector<BytesView> texts;
    for (BytesView rest = cell.data; const auto text = take_byte_string(rest);) texts.push_back(*text);
    out.values = std::move(texts);
  }
  return out;
}

// A row as the dataset would call its columns.
std::vector<Feature> features_of(const SourceRow& row, const LearntFrom& learnt) {
  std::vector<Feature> out;
  for (const NamedCell& cell : row.cells) {
    const auto [begin, end] = learnt.features_of_column.equal_range(cell.name);
    if (begin == end) out.push_back(feature_of(std::string(cell.name), cell.cell));
    for (auto each = begin; each != end; ++each) out.push_back(feature_of(each->second, cell.cell));
  }
  return out;
}

struct LoggedRows {
  SplitStatistics statistics;
  std::uint64_t rejected = 0;
};

Result<LoggedRows> read_log(CommandContext& context, const Location& location, const LearntFrom& learnt,
                            const OptionValues& values) {
  HEADRACE_TRY(Input input, find_input(location, InputFormat::kRequestLog));
  std::ranges::reverse(input.slices);  // names begin with the time
  const auto most = static_cast<std::uint64_t>(values.integer("limit"));
  LoggedRows out;
  for (const Slice& slice : input.slices) {
    HEADRACE_TRY(const auto rows, open_slice(input, slice, context.stores));
    while (out.statistics.records < most) {
      if (context.stop.stop_requested()) return Error{Code::kCancelled, "stopped"};
      HEADRACE_TRY(const auto row, rows->next());
      if (!row) break;
      if (row->verdict != RowVerdict::kRow) {
        ++out.rejected;
        continue;
      }
      out.statistics.add(features_of(*row, learnt), learnt.vocabularies, out.statistics.records);
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
  context.console.result(
      concat(log.describe(), ": ", logged.statistics.records, " rows of requests, against ",
             learnt.statistics.records, " records of ", learnt.split, " in ", dataset.describe(), ": ", moved,
             moved == 1 ? " feature has" : " features have", " moved", feature_drift_to_text(drifts)));
  return {};
}

}  // namespace headrace
