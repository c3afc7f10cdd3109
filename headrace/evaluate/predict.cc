#include "headrace/evaluate/predict.h"

#include <algorithm>
#include <mutex>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/evaluate/prediction_shard.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/os/parallel.h"
#include "headrace/store/numbered.h"
#include "headrace/stream/batch.h"
#include "headrace/stream/loaded_block.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "predictions";
constexpr std::string_view kIdFeature = "id";

// The columns to decode; the record's id where the dataset has it.
std::vector<Column> columns_of(const ExportAttributes& attributes, const Dataset& dataset) {
  std::vector<Column> columns = {{.name = attributes.features,
                                  .type = FeatureType::kFloat32,
                                  .length = static_cast<std::uint32_t>(attributes.features_width)}};
  if (!dataset.attributes()) return columns;
  const auto id = dataset.attributes()->features.find(std::string(kIdFeature));
  if (id != dataset.attributes()->features.end() && id->second.dtype == "bytes")
    columns.push_back(
        {.name = std::string(kIdFeature), .type = FeatureType::kBytes, .length = 1, .required = false});
  return columns;
}

struct ShardOutcome {
  ManifestPart part;
  std::uint64_t corrupt_records = 0;
  std::vector<std::string> remarks;
};

// Answers one shard's records, a batch at a time.
class ShardJob {
 public:
  static Result<ShardJob> create(const ExportedModel& model, const Dataset& dataset,
                                 const PredictOptions& options, const std::stop_token& stop) {
    HEADRACE_TRY(Predictor predictor, Predictor::create(model));
    HEADRACE_TRY(ExampleDecoder decoder, ExampleDecoder::create(columns_of(model.attributes, dataset)));
    return ShardJob(model.attributes.labels, dataset, options, stop, std::move(predictor),
                    std::move(decoder));
  }

  Result<ShardOutcome> run(std::uint32_t shard, const Location& output) {
    HEADRACE_TRY(PredictionShard writer,
                 PredictionShard::start(output, prediction_shard_name(shard, dataset_.shards().size())));
    BlockLoader loader(dataset_, options_.on_corrupt, BufferPool::create());
    const auto& blocks = dataset_.blocks();
    auto block = std::ranges::lower_bound(blocks, shard, {}, &DatasetBlock::shard);
    for (; block != blocks.end() && block->shard == shard; ++block)
      HEADRACE_CHECK(read_block(*block, loader, writer));
    HEADRACE_CHECK(answer(writer));
    HEADRACE_TRY(outcome_.part, writer.finish());
    return std::move(outcome_);
  }

 private:
  ShardJob(const std::vector<std::string>& labels, const Dataset& dataset, const PredictOptions& options,
           std::stop_token stop, Predictor predictor, ExampleDecoder decoder)
      : labels_(labels),
        dataset_(dataset),
        options_(options),
        stop_(std::move(stop)),
        predictor_(std::move(predictor)),
        decoder_(std::move(decoder)),
        // A pool's memory is aligned as the engine wants it.
        batch_(BatchPool::create({batch_column(decoder_.columns().front())}, options.batch_size)->take()),
        id_views_(options.batch_size) {
    buffers_ = {reinterpret_cast<float*>(batch_.column(0))};
    if (decoder_.columns().size() > 1) buffers_.emplace_back(id_views_.data());
  }

  Status read_block(const DatasetBlock& block, BlockLoader& loader, PredictionShard& writer) {
    HEADRACE_TRY(const LoadedBlock loaded, loader.load(block, {.stop = stop_}));
    const bool is_lost = dataset_.shards()[block.shard].lost;
    for (std::uint64_t i = 0; i < block.record_count; ++i) {
      const Error* hole = loaded.hole(i);
      Status status = hole == nullptr ? decode(loaded.data(i)) : Status(*hole);
      if (status) {
        if (ids_.size() == options_.batch_size) HEADRACE_CHECK(answer(writer));
        continue;
      }
      Error error = std::move(status).error();
      if (hole == nullptr)
        error = std::move(error).in(
            concat("record ", block.first_record + i, " of ", dataset_.describe_shard(block.shard)));
      if (options_.on_corrupt == CorruptionPolicy::kFail) return with_advice(std::move(error));
      ++outcome_.corrupt_records;
      if (!is_lost) add_remark(outcome_.remarks, std::move(error.message));
    }
    return {};
  }

  // Into the next row of the batch.
  Status decode(BytesView record) {
    const std::size_t row = ids_.size();
    HEADRACE_CHECK(decoder_.decode(record, buffers_, row));
    ids_.push_back(to_string(id_views_[row]));
    return {};
  }

  // Writes the model's answers to what is in the batch, and empties it.
  Status answer(PredictionShard& writer) {
    if (ids_.empty()) return {};
    if (stop_.stop_requested())
      return Error{Code::kCancelled, "predicting was stopped; the same command begins it again"};
    HEADRACE_TRY(const Tensor predictions,
                 predictor_.run(reinterpret_cast<const float*>(batch_.column(0)), ids_.size()));
    const std::span<const float> scores = predictions.values<float>();
    for (std::size_t row = 0; row < ids_.size(); ++row) {
      std::optional<std::pair<std::string, std::string_view>> about;
      if (!ids_[row].empty()) about.emplace(kIdFeature, ids_[row]);
      HEADRACE_CHECK(writer.add(
          prediction_to_json(labels_, scores.subspan(row * labels_.size(), labels_.size()), about)));
    }
    ids_.clear();
    return {};
  }

  const std::vector<std::string>& labels_;
  const Dataset& dataset_;
  const PredictOptions& options_;
  const std::stop_token stop_;
  Predictor predictor_;
  ExampleDecoder decoder_;
  Batch batch_;
  std::vector<BytesView> id_views_;  // each only as long as its record lives
  std::vector<ColumnBuffer> buffers_;
  std::vector<std::string> ids_;  // of the rows in batch_
  ShardOutcome outcome_;
};

Configuration describe(const ExportedModel& model, const Dataset& dataset, const PredictOptions& options) {
  return {{"stage", "predict 1"},
          {"model", model.folder.url.text()},
          {"model manifest", model.digest},
          {"data", dataset.location().url.text()},
          {"data manifest", dataset.digest()},
          {"split", options.split},
          {"batch-size", concat(options.batch_size)},
          {"compressor", deflate_fingerprint()}};
}

StageOutput predict_output() {
  return {.stage = "predict",
          .claim = kConfigurationKey,
          .folders = {{"", kKind}},
          .names = {"predictions-#####-of-#####.jsonl.gz"}};
}

Status publish(const ExportedModel& model, const Dataset& dataset, const Location& output,
               const std::vector<ShardOutcome>& shards, std::string_view plan, std::string_view run_id) {
  Manifest manifest{.kind = std::string(kKind), .created_by = std::string(run_id), .plan = std::string(plan)};
  std::uint64_t records = 0;
  for (const ShardOutcome& shard : shards) {
    manifest.parts.push_back(shard.part);
    manifest.parts.back().split = dataset.split();
    records += shard.part.records.value_or(0);
  }
  manifest.attributes_json = Json{
      {"model", model.folder.url.text()},
      {"model_digest", model.digest},
      {"data", dataset.location().url.text()},
      {"data_digest", dataset.digest()},
      {"split", dataset.split()},
      {"labels", model.attributes.labels},
      {"records", records}}.dump();
  const auto created = create_numbered(*output.store, output.at(kManifestPrefix).key, 1,
                                       as_bytes(serialize_manifest(manifest)));
  // Another process with the same configuration may have been faster; its manifest names the same bytes.
  if (created || created.error().code == Code::kAlreadyExists) return {};
  return created.error().in("publishing the predictions");
}

}  // namespace

Result<PredictResult> predict(const ExportedModel& model, const Location& data, const Location& output,
                              const PredictOptions& options, std::string_view run_id,
                              const OnRecords& on_records, const std::stop_token& stop) {
  HEADRACE_TRY(const std::shared_ptr<const Dataset> dataset,
               Dataset::open(
                   data, {.split = options.split, .on_corrupt = options.on_corrupt, .call = {.stop = stop}}));
  HEADRACE_CHECK(check_dataset(model, *dataset));
  const Configuration configuration = describe(model, *dataset, options);
  HEADRACE_CHECK(claim_output(output, predict_output(), configuration, options.overwrite));
  HEADRACE_TRY(const std::optional<PublishedFolder> published, read_published(output, kKind));
  PredictResult result{.shards = dataset->shards().size(), .remarks = dataset->remarks()};
  if (published) {
    for (const ManifestPart& part : published->manifest.parts) {
      result.records += part.records.value_or(0);
      result.shard_bytes += part.size_bytes;
    }
    result.was_published = true;
    return result;
  }
  std::vector<ShardOutcome> shards(dataset->shards().size());
  std::mutex mutex;
  HEADRACE_CHECK(parallel_for(options.workers, shards.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(ShardJob job, ShardJob::create(model, *dataset, options, stop));
    HEADRACE_TRY(shards[i], job.run(static_cast<std::uint32_t>(i), output));
    const std::lock_guard lock(mutex);
    result.records += shards[i].part.records.value_or(0);
    result.shard_bytes += shards[i].part.size_bytes;
    result.corrupt_records += shards[i].corrupt_records;
    for (std::string& remark : shards[i].remarks) add_remark(result.remarks, std::move(remark));
    on_records(result.records, dataset->record_count());
    return {};
  }));
  HEADRACE_CHECK(publish(model, *dataset, output, shards, configuration_digest(configuration), run_id));
  return result;
}

}  // namespace headrace
