#include "headrace/stream/loader.h"

#include <algorithm>
#include <cmath>

#include "headrace/base/text.h"
#include "headrace/io/parallel.h"
#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader_state.h"
#include "headrace/stream/pipeline.h"
#include "headrace/stream/record_finder.h"

namespace headrace {
namespace {

// Threads, with `threads` 0, when the store is slow.
constexpr int kMostThreads = 16;
// Batches made ahead of the caller, if the budget allows: enough to hide what a batch takes to make.
constexpr std::uint64_t kDepth = 8;
// At least: the caller's, one that is ready and one that is being made.
constexpr std::uint64_t kLeastBatches = 3;

std::string schema_text(const Column& column, const FeatureSchema& schema) {
  std::string text = concat(column.name, " is ", schema.dtype);
  if (!schema.shape) return text + "[any]";
  for (const std::int64_t size : *schema.shape) text += concat("[", size, "]");
  return text;
}

Status check_column(const Dataset& dataset, const Column& column) {
  if (!dataset.attributes()) return {};
  const auto& features = dataset.attributes()->features;
  const auto found = features.find(column.name);
  if (found == features.end()) {
    if (!column.required || column.default_value.index() != 0) return {};
    std::vector<std::string> names;
    for (const auto& [name, schema] : features) names.push_back(schema_text({.name = name}, schema));
    return Error{Code::kInvalidArgument, concat(dataset.describe(), " has no feature ", column.name,
                                                "; it has: ", join(names, ", "))};
  }
  bool fits = found->second.dtype == feature_type_name(column.type);
  if (column.length && found->second.shape) {
    std::int64_t length = 1;
    for (const std::int64_t size : *found->second.shape) length *= size;
    fits = fits && length == static_cast<std::int64_t>(*column.length);
  }
  if (fits) return {};
  return Error{Code::kInvalidArgument,
               concat(column.name, " is wanted as ", describe_column(column), ", but in ", dataset.describe(),
                      " ", schema_text(column, found->second))};
}

Status check_options(const std::vector<LoaderSource>& sources, const LoaderOptions& options) {
  if (options.rank >= options.world_size) {
    return Error{Code::kInvalidArgument,
                 concat("rank ", options.rank, " is not below the world size ", options.world_size)};
  }
  if (options.batch_size == 0 || options.batch_size < options.world_size) {
    return Error{Code::kInvalidArgument, concat("a global batch of ", options.batch_size,
                                                " cannot be split over ", options.world_size, " ranks")};
  }
  if (sources.empty() || sources.size() > kMaxMixtureSources) {
    return Error{Code::kInvalidArgument,
                 concat(sources.size(), " sources; a mixture has 1 … ", kMaxMixtureSources)};
  }
  for (const LoaderSource& source : sources) {
    if (!std::isfinite(source.weight) || source.weight <= 0)
      return Error{Code::kInvalidArgument,
                   concat("the weight of ", source.dataset->describe(), " is not above 0: ", source.weight)};
    for (const Column& column : options.columns) HEADRACE_CHECK(check_column(*source.dataset, column));
  }
  return {};
}

std::vector<std::uint64_t> weights_of(const std::vector<LoaderSource>& sources) {
  std::vector<double> weights;
  for (const LoaderSource& source : sources) weights.push_back(source.weight);
  return mixture_weights(weights);
}

// Sources with the seeds and windows that docs/formats/order.md gives them.
Result<std::vector<std::unique_ptr<Source>>> open_sources(const std::vector<LoaderSource>& from,
                                                          const LoaderOptions& options,
                                                          std::vector<std::string>& remarks) {
  const Mixture mixture(weights_of(from));
  std::vector<std::unique_ptr<Source>> sources;
  for (std::size_t s = 0; s < from.size(); ++s) {
    SourceOptions with{.range = from[s].range,
                       .mode = options.shuffle,
                       .seed = options.seed,
                       .window_bytes = options.window_bytes};
    if (from.size() > 1) {
      const long double share = static_cast<long double>(mixture.weight(s)) / mixture.total_weight();
      with.seed = derive_order_key(options.seed, "source", s, 0).low;
      with.window_bytes = static_cast<std::uint64_t>(share * options.window_bytes);
    }
    HEADRACE_TRY(std::unique_ptr<Source> source,
                 Source::create(from[s].dataset, with, {.stop = options.stop}, remarks));
    if (source->record_count() == 0) {
      return Error{Code::kFailedPrecondition,
                   concat(from[s].dataset->describe(), " has no records in split ", from[s].dataset->split(),
                          ", or in the range that is wanted of it")};
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

BatchPlan plan_of(const std::vector<LoaderSource>& from, const std::vector<std::unique_ptr<Source>>& sources,
                  const LoaderOptions& options) {
  const std::vector<std::uint64_t> weights = weights_of(from);
  std::vector<BatchPlan::Source> parts;
  for (std::size_t s = 0; s < sources.size(); ++s) parts.push_back({sources[s]->record_count(), weights[s]});
  return {std::move(parts), options.batch_size, options.drop_remainder, options.rank, options.world_size};
}

// Of one batch, columns of any length as large as the records are on average.
std::uint64_t batch_bytes(const std::vector<std::unique_ptr<Source>>& sources, const BatchPlan& plan,
                          const std::vector<Column>& columns) {
  std::uint64_t bytes = plan.row_count() * sizeof(float) + (columns.size() + 1) * kBatchAlignmentBytes;
  bool is_variable = false;
  for (const Column& column : columns) {
    bytes += plan.row_count() * row_bytes(column);
    is_variable = is_variable || !is_fixed(column);
  }
  double record_bytes = 0;
  for (const auto& source : sources) record_bytes = std::max(record_bytes, source->mean_record_bytes());
  if (is_variable) bytes += static_cast<std::uint64_t>(record_bytes * static_cast<double>(plan.row_count()));
  return bytes;
}

// What the loader takes of its budget; or why that is not enough.
Result<Pipeline::Sizes> check_budget(const std::vector<std::unique_ptr<Source>>& sources,
                                     const BatchPlan& plan, const LoaderOptions& options) {
  std::uint64_t windows = 0, block = 0, stored = 0, index = 0;
  for (const auto& source : sources) {
    // A source that fits one window is in memory once.
    windows += (source->is_one_window() ? 1 : 2) * source->window_memory_bytes();
    block = std::max(block, source->block_bytes());
    stored = std::max(stored, source->stored_block_bytes());
    if (source->mode() == ShuffleMode::kExact) {
      index += source->dataset().record_count() * sizeof(std::uint64_t);
      stored = std::max(stored, source->stored_block_bytes() + source->block_bytes());
    }
  }
  const std::uint64_t batch = batch_bytes(sources, plan, options.columns);
  const auto with_threads = [&](int threads) {
    return windows + index + kLeastBatches * batch + static_cast<std::uint64_t>(threads) * stored;
  };
  const std::uint64_t least = with_threads(std::max(options.threads, 1));
  if (least > options.memory_budget_bytes) {
    return Error{
        Code::kResourceExhausted,
        concat("reading in windows of ", format_size(options.window_bytes), ", blocks of up to ",
               format_size(block), " and batches of ", format_size(batch), " needs ", format_size(least),
               ", but the memory budget is ", format_size(options.memory_budget_bytes),
               "; raise the budget, or make windows or batches smaller")};
  }
  Pipeline::Sizes sizes{.threads = options.threads, .most_threads = options.threads};
  if (options.threads <= 0) {
    sizes.most_threads = kMostThreads;
    while (sizes.most_threads > 1 && with_threads(sizes.most_threads) > options.memory_budget_bytes)
      --sizes.most_threads;
    sizes.threads = std::min(available_cores(), sizes.most_threads);
  }
  const std::uint64_t rest = options.memory_budget_bytes - with_threads(sizes.most_threads);
  sizes.batch_budget_bytes = rest + kLeastBatches * batch;
  sizes.depth = std::clamp<std::uint64_t>(sizes.batch_budget_bytes / batch, kLeastBatches, kDepth + 1) - 1;
  return sizes;
}

class Loader final : public BatchLoader {
 public:
  Loader(std::vector<LoaderSource> from, LoaderOptions options, std::vector<std::unique_ptr<Source>> sources,
         const BatchPlan& plan, const Pipeline::Sizes& sizes, std::vector<std::string> remarks)
      : from_(std::move(from)),
        options_(std::move(options)),
        sources_(std::move(sources)),
        plan_(plan),
        remarks_(std::move(remarks)),
        pipeline_(sources_, plan_, options_, sizes) {}

  Result<std::optional<Batch>> next() override { return pipeline_.next(); }
  std::uint64_t batches_per_epoch() const override { return plan_.batches_per_epoch(); }
  std::uint64_t record_count() const override { return plan_.records_per_epoch(); }
  const LoaderOptions& options() const override { return options_; }
  LoaderStats stats() const override { return pipeline_.stats(); }
  std::string activity() const override { return pipeline_.activity(); }
  std::string trace_json() const override { return pipeline_.trace_json(); }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> all = remarks_;
    for (std::string& remark : pipeline_.remarks()) all.push_back(std::move(remark));
    return all;
  }

  std::vector<RecordPlace> where(std::uint64_t epoch, std::uint64_t batch) const override {
    std::vector<RecordPlace> places;
    for (const SourcePosition& row : plan_.rows(epoch * plan_.batches_per_epoch() + batch)) {
      const SourceRecord record = sources_[row.source]->at(row.epoch, row.position);
      places.push_back({row.source, record.shard, record.record,
                        sources_[row.source]->dataset().describe_shard(record.shard)});
    }
    return places;
  }

  Result<Bytes> read_record(const RecordPlace& place) override {
    return finder_.read(sources_[place.source]->dataset(), place.shard, place.record,
                        {.stop = options_.stop});
  }
  Result<std::uint64_t> record_offset(const RecordPlace& place) override {
    return finder_.offset(sources_[place.source]->dataset(), place.shard, place.record,
                          {.stop = options_.stop});
  }

  std::string state(std::uint64_t epoch, std::uint64_t next_batch) const override {
    const bool is_over = next_batch >= plan_.batches_per_epoch();
    return loader_state(from_, options_, {is_over ? epoch + 1 : epoch, is_over ? 0 : next_batch});
  }

 private:
  const std::vector<LoaderSource> from_;
  const LoaderOptions options_;
  const std::vector<std::unique_ptr<Source>> sources_;
  const BatchPlan plan_;
  const std::vector<std::string> remarks_;
  RecordFinder finder_;
  Pipeline pipeline_;  // last: its threads use the rest
};

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(std::vector<LoaderSource> from,
                                                         LoaderOptions options) {
  HEADRACE_CHECK(check_options(from, options));
  std::vector<std::string> remarks;
  HEADRACE_TRY(std::vector<std::unique_ptr<Source>> sources, open_sources(from, options, remarks));
  const BatchPlan plan = plan_of(from, sources, options);
  if (plan.batches_per_epoch() == 0) {
    return Error{Code::kFailedPrecondition,
                 concat(from.front().dataset->describe(), " has ", plan.records_per_epoch(),
                        " records in this range: not one batch of ", options.batch_size)};
  }
  HEADRACE_TRY(const Pipeline::Sizes sizes, check_budget(sources, plan, options));
  return std::unique_ptr<BatchLoader>(std::make_unique<Loader>(
      std::move(from), std::move(options), std::move(sources), plan, sizes, std::move(remarks)));
}

}  // namespace headrace
