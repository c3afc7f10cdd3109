#include "headrace/stream/loader.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/io/digest.h"
#include "headrace/stream/pipeline.h"

namespace headrace {
namespace {

using nlohmann::json;

std::string schema_text(const Column& column, const FeatureSchema& schema) {
  std::string text = concat(column.name, " is ", schema.dtype);
  if (!schema.shape) return text + "[any]";
  for (const std::int64_t size : *schema.shape) text += concat("[", size, "]");
  return text;
}

Status check_column(const Dataset& dataset, const Column& column) {
  if (!column.length || column.type == FeatureType::kBytes) {
    return Error{Code::kInvalidArgument, concat(describe_column(column), " ", column.name,
                                                ": batches take float32 and int64 of a fixed length")};
  }
  if (!dataset.attributes()) return {};
  const auto& features = dataset.attributes()->features;
  const auto found = features.find(column.name);
  if (found == features.end()) {
    std::vector<std::string> names;
    for (const auto& [name, schema] : features) names.push_back(schema_text({.name = name}, schema));
    return Error{Code::kInvalidArgument, concat(dataset.location().describe(), " has no feature ",
                                                column.name, "; it has: ", join(names, ", "))};
  }
  std::int64_t length = 1;
  for (const std::int64_t size : found->second.shape.value_or(std::vector<std::int64_t>{-1})) length *= size;
  if (found->second.dtype == feature_type_name(column.type) &&
      length == static_cast<std::int64_t>(*column.length))
    return {};
  return Error{Code::kInvalidArgument,
               concat(column.name, " is wanted as ", describe_column(column), ", but in ",
                      dataset.location().describe(), " ", schema_text(column, found->second))};
}

// A data set's blocks, trimmed to the range.
std::vector<DatasetBlock> blocks_in_range(const Dataset& dataset, const RecordRange& range) {
  std::vector<DatasetBlock> blocks;
  std::uint64_t block_begin = 0;
  for (DatasetBlock block : dataset.blocks()) {
    const std::uint64_t block_end = block_begin + block.record_count;
    const std::uint64_t begin = std::max(block_begin, range.first);
    const std::uint64_t end = std::min(block_end, range.first + range.count);
    if (begin < end) {
      block.first_record += begin - block_begin;
      block.record_count = end - begin;
      blocks.push_back(block);
    }
    block_begin = block_end;
  }
  return blocks;
}

std::vector<OrderBlock> order_blocks(const std::vector<DatasetBlock>& blocks) {
  std::vector<OrderBlock> out;
  out.reserve(blocks.size());
  for (const DatasetBlock& block : blocks) out.push_back({block.record_count, block.size_bytes});
  return out;
}

RecordRange range_of(const Dataset& dataset, const LoaderOptions& options) {
  return options.range.value_or(RecordRange{0, dataset.record_count()});
}

std::string fingerprint(const Dataset& dataset, const RecordRange& range) {
  return sha256_hex(
      as_bytes(concat(dataset.digest(), " ", dataset.split(), " ", range.first, " ", range.count)));
}

// All of a state but the position.
json state_document(const Dataset& dataset, const LoaderOptions& options) {
  return {{"order", kOrderVersion},
          {"seed", options.seed},
          {"batch_size", options.batch_size},
          {"mode", shuffle_mode_name(options.shuffle)},
          {"window_bytes", options.window_bytes},
          {"drop_remainder", options.drop_remainder},
          {"dataset", fingerprint(dataset, range_of(dataset, options))}};
}

class Loader final : public BatchLoader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, LoaderOptions options, std::vector<DatasetBlock> blocks,
         BatchLayout layout)
      : dataset_(std::move(dataset)),
        options_(std::move(options)),
        blocks_(std::move(blocks)),
        layout_(layout),
        pipeline_(*dataset_, options_, blocks_, order_blocks(blocks_), layout_) {}

  Result<std::optional<Batch>> next() override { return pipeline_.next(); }
  std::uint64_t batches_per_epoch() const override { return layout_.batches_per_epoch; }
  std::uint64_t record_count() const override { return layout_.record_count; }
  LoaderStats stats() const override { return pipeline_.stats(); }
  std::vector<std::string> remarks() const override { return pipeline_.remarks(); }

  std::vector<RecordPlace> where(std::uint64_t epoch, std::uint64_t batch) const override {
    const EpochOrder order(options_.seed, epoch, order_blocks(blocks_), options_.shuffle,
                           options_.window_bytes);
    const BatchSlice slice = layout_.slice(batch);
    std::vector<RecordPlace> places;
    for (std::uint64_t i = 0; i < slice.record_count; ++i) {
      const OrderedRecord record = order.at(slice.first_position + i);
      const DatasetBlock& block = blocks_[record.block];
      places.push_back({dataset_->location().store->describe(dataset_->shards()[block.shard].key),
                        block.first_record + record.record});
    }
    return places;
  }

  std::string state(std::uint64_t epoch, std::uint64_t next_batch) const override {
    json document = state_document(*dataset_, options_);
    document["epoch"] = next_batch < layout_.batches_per_epoch ? epoch : epoch + 1;
    document["batch"] = next_batch < layout_.batches_per_epoch ? next_batch : 0;
    return document.dump();
  }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions options_;
  const std::vector<DatasetBlock> blocks_;
  const BatchLayout layout_;
  Pipeline pipeline_;  // last: its threads use the rest
};

Status check_options(const Dataset& dataset, const LoaderOptions& options) {
  if (options.rank >= options.world_size) {
    return Error{Code::kInvalidArgument,
                 concat("rank ", options.rank, " is not below the world size ", options.world_size)};
  }
  if (options.batch_size == 0 || options.batch_size < options.world_size) {
    return Error{Code::kInvalidArgument, concat("a global batch of ", options.batch_size,
                                                " cannot be split over ", options.world_size, " ranks")};
  }
  if (options.shuffle == ShuffleMode::kExact) {
    return Error{Code::kUnimplemented, "shuffle=exact needs random access to single records; use window"};
  }
  for (const Column& column : options.columns) HEADRACE_CHECK(check_column(dataset, column));
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(std::shared_ptr<const Dataset> dataset,
                                                         LoaderOptions options) {
  HEADRACE_CHECK(check_options(*dataset, options));
  std::vector<DatasetBlock> blocks = blocks_in_range(*dataset, range_of(*dataset, options));
  BatchLayout layout{
      .batch_size = options.batch_size, .rank = options.rank, .world_size = options.world_size};
  for (const DatasetBlock& block : blocks) layout.record_count += block.record_count;
  layout.batches_per_epoch = batches_in_epoch(layout.record_count, layout.batch_size, options.drop_remainder);
  if (layout.batches_per_epoch == 0) {
    return Error{Code::kFailedPrecondition,
                 concat(dataset->location().describe(), " has ", layout.record_count,
                        " records in this range: not one batch of ", layout.batch_size)};
  }
  HEADRACE_CHECK(check_memory_budget(*dataset, options, blocks, order_blocks(blocks), layout));
  return std::unique_ptr<BatchLoader>(
      std::make_unique<Loader>(std::move(dataset), std::move(options), std::move(blocks), layout));
}

Result<LoaderPosition> parse_loader_state(std::string_view state, const Dataset& dataset,
                                          const LoaderOptions& options) {
  const json document = check_json_depth(state) ? json::parse(state, nullptr, false) : json();
  if (!document.is_object() || !document.contains("epoch") || !document["epoch"].is_number_unsigned() ||
      !document.contains("batch") || !document["batch"].is_number_unsigned()) {
    return Error{Code::kDataLoss, "the loader's state is damaged"};
  }
  const json expected = state_document(dataset, options);
  for (const auto& [name, value] : expected.items()) {
    const json stored = document.value(name, json());
    if (stored == value) continue;
    return Error{Code::kFailedPrecondition,
                 concat("the loader's state is of another ", name == "dataset" ? "data set or range" : name,
                        ": ", stored.dump(), " there, ", value.dump(), " here")};
  }
  return LoaderPosition{document["epoch"].get<std::uint64_t>(), document["batch"].get<std::uint64_t>()};
}

}  // namespace headrace
