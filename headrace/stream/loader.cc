#include "headrace/stream/loader.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/arranged_records.h"
#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader_memory.h"
#include "headrace/stream/loader_state.h"
#include "headrace/stream/pipeline.h"

namespace headrace {
namespace {

// The limit keeps the product of the batch size and a rank from wrapping around.
constexpr std::uint64_t kMostBatchSize = std::uint64_t{1} << 31;
// The limit for the rows of all epochs, for the same reason.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 62;

std::string schema_text(const Column& column, const FeatureSchema& schema) {
  std::string text = concat(column.name, " is ", schema.dtype);
  if (!schema.shape) return text + "[any]";
  for (const std::int64_t size : *schema.shape) text += concat("[", size, "]");
  return text;
}

// The number of values in a manifest's shape; none if a column cannot have so many.
std::optional<std::uint64_t> value_count(const std::vector<std::int64_t>& shape) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || static_cast<std::uint64_t>(size) > kMost) return std::nullopt;
    count *= static_cast<std::uint64_t>(size);
    if (count > kMost) return std::nullopt;
  }
  return count;
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
  bool fits = found->second.dtype == data_type_name(column.type);
  const std::optional<std::uint32_t> count = column.length ? column.length : column.count_if_present;
  if (count && found->second.shape) fits = fits && value_count(*found->second.shape) == *count;
  if (fits) return {};
  return Error{Code::kInvalidArgument,
               concat(column.name, " is wanted as ", describe_column(column), ", but in ", dataset.describe(),
                      " ", schema_text(column, found->second))};
}

// Only callers who have asked for holes get batches with holes.
Status check_lost_shards(const Dataset& dataset, CorruptionPolicy policy) {
  if (policy == CorruptionPolicy::kSkipShard) return {};
  for (std::uint32_t i = 0; i < dataset.shards().size(); ++i) {
    if (!dataset.shards()[i].lost) continue;
    return Error{Code::kFailedPrecondition,
                 concat(dataset.describe_shard(i), " is missing or altered: the dataset was opened to skip ",
                        "such shards, but the loader was given ", policy_name(policy), "; give it ",
                        policy_name(CorruptionPolicy::kSkipShard), ", too")};
  }
  return {};
}

Status check_options(const std::vector<LoaderSource>& sources, const LoaderOptions& options) {
  if (options.rank >= options.world_size) {
    return Error{Code::kInvalidArgument,
                 concat("rank ", options.rank, " is not below the world size ", options.world_size)};
  }
  if (options.batch_size > kMostBatchSize) {
    return Error{Code::kInvalidArgument,
                 concat("a global batch of ", options.batch_size, "; the limit is ", kMostBatchSize)};
  }
  if (options.batch_size == 0 || options.batch_size < options.world_size) {
    return Error{Code::kInvalidArgument, concat("a global batch of ", options.batch_size,
                                                " cannot be split over ", options.world_size, " ranks")};
  }
  if (options.micro_shards > 0 &&
      (options.batch_size % options.micro_shards != 0 || options.micro_shards < options.world_size)) {
    return Error{Code::kInvalidArgument,
                 concat("a global batch of ", options.batch_size, " cannot be split into ",
                        options.micro_shards, " equal micro-shards over ", options.world_size, " ranks")};
  }
  if (options.order_version < 1 || options.order_version > kOrderVersion) {
    return Error{Code::kInvalidArgument,
                 concat("version ", options.order_version,
                        " of the order is unknown; this Headrace has 1 to ", kOrderVersion)};
  }
  HEADRACE_CHECK(check_images(options.images, options.columns));
  const std::string_view arrangement = arrangement_name(options.arrangement.kind);
  if (options.arrangement.kind != ArrangementKind::kNone && options.order_version == 1)
    return Error{Code::kInvalidArgument,
                 concat(arrangement, " by ", options.arrangement.feature.name, " needs version ",
                        kOrderVersion, " of the order, not 1; leave ", arrangement, " out, or start over")};
  if (options.arrangement.kind != ArrangementKind::kNone && options.shuffle == ShuffleMode::kNone)
    return Error{Code::kInvalidArgument,
                 concat(arrangement, " by ", options.arrangement.feature.name,
                        " needs a shuffled order: shuffle, or leave ", arrangement, " out")};
  if (sources.empty() || sources.size() > kMaxMixtureSources) {
    return Error{Code::kInvalidArgument,
                 concat(sources.size(), " sources; a mixture has 1 to ", kMaxMixtureSources)};
  }
  for (const LoaderSource& source : sources) {
    if (!std::isfinite(source.weight) || source.weight <= 0)
      return Error{Code::kInvalidArgument,
                   concat("the weight of ", source.dataset->describe(), " is not above 0: ", source.weight)};
    for (const Column& column : options.columns) HEADRACE_CHECK(check_column(*source.dataset, column));
    if (options.arrangement.kind != ArrangementKind::kNone)
      HEADRACE_CHECK(check_arrangement(*source.dataset, options.arrangement));
    HEADRACE_CHECK(check_lost_shards(*source.dataset, options.on_corrupt));
    if (count_of(source) == 0) {
      const std::string& split = source.dataset->split();
      return Error{Code::kFailedPrecondition,
                   concat(source.dataset->describe(), " has no records", split.empty() ? "" : " in split ",
                          split, source.range ? ", or in the requested range" : "")};
    }
  }
  return check_index_memory(sources, options);
}

std::uint64_t most_epochs(const BatchPlan& plan) {
  return kMostRows / std::max(plan.records_per_epoch(), plan.batches_per_epoch() * plan.batch_size());
}

Status check_position(const LoaderOptions& options, const BatchPlan& plan) {
  if (options.first_batch < plan.batches_per_epoch() && options.first_epoch < most_epochs(plan)) return {};
  return Error{Code::kInvalidArgument,
               concat("reading cannot begin at batch ", options.first_batch, " of epoch ",
                      options.first_epoch, ": an epoch has ", plan.batches_per_epoch(), " batches")};
}

// Opens the sources with the seeds and windows that docs/formats/order.md gives them.
Result<std::vector<std::unique_ptr<Source>>> open_sources(const std::vector<LoaderSource>& from,
                                                          const LoaderOptions& options,
                                                          std::vector<std::string>& remarks) {
  const Mixture mixture(integer_weights(from));
  std::vector<std::unique_ptr<Source>> sources;
  for (std::size_t s = 0; s < from.size(); ++s) {
    SourceOptions with{.range = from[s].range,
                       .selection = from[s].selection,
                       .order_version = options.order_version,
                       .mode = options.shuffle,
                       .seed = options.seed,
                       .window_bytes = options.window_bytes,
                       .arrangement = options.arrangement.kind,
                       .batch_size = options.batch_size};
    if (from.size() > 1) {
      const long double share = static_cast<long double>(mixture.weight(s)) / mixture.total_weight();
      with.seed = derive_order_key(options.seed, "source", s, 0).low;
      with.window_bytes = static_cast<std::uint64_t>(share * options.window_bytes);
    }
    HEADRACE_TRY(std::unique_ptr<Source> source,
                 Source::create(from[s].dataset, with, {.stop = options.stop}, remarks));
    sources.push_back(std::move(source));
  }
  return sources;
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
        pipeline_(sources_, plan_, options_, sizes) {
    if (options_.arrangement.kind == ArrangementKind::kNone) return;
    for (const auto& source : sources_)
      arranged_.emplace_back(*source, options_.arrangement, options_.on_corrupt);
  }

  Result<std::optional<Batch>> next() override { return pipeline_.next(); }
  void close() override { pipeline_.close(); }
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

  Result<std::vector<RecordPlace>> where(std::uint64_t epoch, std::uint64_t batch,
                                         const CallOptions& call) const override {
    std::vector<RecordPlace> places;
    for (const SourcePosition& row : plan_.rows(epoch * plan_.batches_per_epoch() + batch)) {
      HEADRACE_TRY(const SourceRecord record, record_at(row, call));
      places.push_back({row.source, record.shard, record.record,
                        sources_[row.source]->dataset().describe_shard(record.shard)});
    }
    return places;
  }

  const Source& source(std::size_t i) const override { return *sources_[i]; }

  std::string state(std::uint64_t epoch, std::uint64_t next_batch) const override {
    const bool is_over = next_batch >= plan_.batches_per_epoch();
    return loader_state(from_, options_, {is_over ? epoch + 1 : epoch, is_over ? 0 : next_batch});
  }

 private:
  Result<SourceRecord> record_at(const SourcePosition& row, const CallOptions& call) const {
    if (arranged_.empty()) return sources_[row.source]->at(row.epoch, row.position);
    return arranged_[row.source].at(row.epoch, row.position, call);
  }

  const std::vector<LoaderSource> from_;
  const LoaderOptions options_;
  const std::vector<std::unique_ptr<Source>> sources_;
  const BatchPlan plan_;
  const std::vector<std::string> remarks_;
  mutable std::deque<ArrangedRecords> arranged_;  // by source; empty without an arrangement
  Pipeline pipeline_;                             // the last member, because its threads use the others
};

}  // namespace

Status BatchLoader::check_memory(const std::vector<LoaderSource>& from, const LoaderOptions& options) {
  HEADRACE_CHECK(check_options(from, options));
  std::vector<std::string> remarks;
  HEADRACE_TRY(const std::vector<std::unique_ptr<Source>> sources, open_sources(from, options, remarks));
  const auto sizes = divide_memory(sources, batch_plan_of(from, options), options);
  return sizes ? Status{} : Status(sizes.error());
}

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(std::vector<LoaderSource> from,
                                                         LoaderOptions options) {
  HEADRACE_CHECK(check_options(from, options));
  std::vector<std::string> remarks;
  HEADRACE_TRY(std::vector<std::unique_ptr<Source>> sources, open_sources(from, options, remarks));
  const BatchPlan plan = batch_plan_of(from, options);
  if (plan.batches_per_epoch() == 0) {
    return Error{Code::kFailedPrecondition,
                 concat(from.front().dataset->describe(), " has ", plan.records_per_epoch(),
                        " records in this range, too few for one batch of ", options.batch_size)};
  }
  HEADRACE_CHECK(check_position(options, plan));
  options.epochs = std::min(options.epochs, most_epochs(plan));
  HEADRACE_TRY(const Pipeline::Sizes sizes, divide_memory(sources, plan, options));
  return std::unique_ptr<BatchLoader>(std::make_unique<Loader>(
      std::move(from), std::move(options), std::move(sources), plan, sizes, std::move(remarks)));
}

std::string describe_record(const BatchLoader& loader, const Batch& batch, std::size_t row) {
  const auto places = loader.where(batch.epoch, batch.number, {});
  if (!places || row >= places->size()) return "a record";
  return concat("record ", (*places)[row].record, " of ", (*places)[row].object);
}

}  // namespace headrace
