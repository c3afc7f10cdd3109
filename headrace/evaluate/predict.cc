#include "headrace/evaluate/predict.h"

#include <algorithm>
#include <mutex>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/evaluate/prediction_shard.h"
#include "headrace/evaluate/predictor.h"
#include "headrace/os/parallel.h"
#include "headrace/stream/loader.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "predictions";
constexpr std::string_view kIdFeature = "id";

// The records' ids, where the dataset has one text for each.
std::optional<Column> id_column(const Dataset& dataset) {
  if (!dataset.attributes()) return std::nullopt;
  const auto id = dataset.attributes()->features.find(std::string(kIdFeature));
  if (id == dataset.attributes()->features.end()) return std::nullopt;
  const auto& [dtype, shape] = id->second;
  if (dtype != data_type_name(DataType::kBytes)) return std::nullopt;
  if (shape && std::ranges::any_of(*shape, [](std::int64_t size) { return size != 1; })) return std::nullopt;
  return Column{.name = std::string(kIdFeature), .type = DataType::kBytes, .length = 1, .required = false};
}

LoaderOptions loader_options(const ExportAttributes& attributes, const Dataset& dataset,
                             const PredictOptions& options, const std::stop_token& stop) {
  LoaderOptions out;
  out.columns = {{.name = attributes.features,
                  .type = DataType::kFloat32,
                  .length = static_cast<std::uint32_t>(attributes.features_width)}};
  if (std::optional<Column> id = id_column(dataset)) out.columns.push_back(*std::move(id));
  out.batch_size = options.batch_size;
  out.shuffle = ShuffleMode::kNone;
  out.on_corrupt = options.on_corrupt;
  out.threads = 1;
  out.memory_budget_bytes = options.memory_budget_bytes;
  out.stop = stop;
  return out;
}

struct ShardOutcome {
  ManifestPart part;
  std::uint64_t corrupt_records = 0;
  std::vector<std::string> remarks;
};

std::string_view id_of(const Batch& batch, std::size_t row) {
  const ColumnData ids = batch.data(1);
  const auto begin = static_cast<std::size_t>(ids.byte_offsets[row]);
  const auto end = static_cast<std::size_t>(ids.byte_offsets[row + 1]);
  return {reinterpret_cast<const char*>(ids.values) + begin, end - begin};
}

// Writes the model's answers to the batch's records.
Status answer(const Batch& batch, bool has_ids, const std::vector<std::string>& labels, Predictor& predictor,
              PredictionShard& writer) {
  const float* weights = batch.weights();
  std::uint64_t rows = batch.rows;
  while (rows > 0 && weights[rows - 1] == 0) --rows;  // what fills up the last batch
  if (rows == 0) return {};
  HEADRACE_TRY(const Tensor predictions,
               predictor.run(reinterpret_cast<const float*>(batch.column(0)), rows));
  const std::span<const float> scores = predictions.values<float>();
  for (std::size_t row = 0; row < rows; ++row) {
    if (weights[row] == 0) continue;
    std::optional<std::pair<std::string, std::string_view>> about;
    if (has_ids && !id_of(batch, row).empty()) about.emplace(kIdFeature, id_of(batch, row));
    HEADRACE_CHECK(
        writer.add(prediction_to_json(labels, scores.subspan(row * labels.size(), labels.size()), about)));
  }
  return {};
}

// Answers the records of one shard in their order.
Result<ShardOutcome> predict_shard(const ExportedModel& model, const Dataset& dataset, std::uint32_t shard,
                                   const OwnedOutput& output, const PredictOptions& options,
                                   const std::stop_token& stop) {
  const std::string name = prediction_shard_name(shard, dataset.shards().size(), output.suffix());
  HEADRACE_TRY(PredictionShard writer, PredictionShard::start(output.output(), name));
  ShardOutcome outcome;
  if (dataset.shards()[shard].record_count > 0) {
    const LoaderOptions with = loader_options(model.attributes, dataset, options, stop);
    HEADRACE_TRY(const std::unique_ptr<BatchLoader> loader,
                 BatchLoader::create({{.dataset = dataset.only(shard)}}, with));
    HEADRACE_TRY(Predictor predictor, Predictor::create(model));
    while (true) {
      Result<std::optional<Batch>> batch = loader->next();
      if (!batch && batch.error().code == Code::kCancelled)
        return Error{Code::kCancelled, "predicting was stopped; the same command begins it again"};
      if (!batch) return std::move(batch).error();
      if (!*batch) break;
      HEADRACE_CHECK(answer(**batch, with.columns.size() > 1, model.attributes.labels, predictor, writer));
    }
    outcome.corrupt_records = loader->stats().corrupt_records;
    if (!dataset.shards()[shard].lost) outcome.remarks = loader->remarks();
  }
  HEADRACE_TRY(outcome.part, writer.finish());
  return outcome;
}

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

std::vector<std::string> names_with(std::string_view suffix) {
  return {concat("predictions-#####-of-#####", suffix, ".jsonl.gz")};
}

StageOutput predict_output() {
  return {.stage = "predict",
          .former_claim = kConfigurationKey,
          .folders = {{"", kKind}},
          .names = names_with(""),
          .names_of = [](std::uint64_t number, const OwnershipEntry& entry) {
            return names_with(number == 0 ? "" : owner_suffix(number, entry.action));
          }};
}

Status publish(const ExportedModel& model, const Dataset& dataset, OwnedOutput& output,
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
  auto published = output.in("").publish(std::move(manifest));
  if (!published) return std::move(published).error().in("publishing the predictions");
  return remove_superseded(output.output(), predict_output(), output.generation(), output.entry());
}

// The predictions that are published under the same configuration; none if there are none.
Result<std::optional<PublishedFolder>> find_done(const Location& output, const OutputState& seen) {
  if (!seen.is_own || seen.chain.published_now() == 0) return std::optional<PublishedFolder>();
  HEADRACE_CHECK(remove_superseded(output, predict_output(), seen.chain.generation(), seen.chain.entry));
  return read_published(output, kKind, {.number = seen.chain.published_now()});
}

}  // namespace

Result<PredictResult> predict(const ExportedModel& model, const Location& data, const Location& output,
                              const PredictOptions& options, const Actor& actor, const OnRecords& on_records,
                              const std::stop_token& stop) {
  HEADRACE_TRY(const std::shared_ptr<const Dataset> dataset,
               Dataset::open(data, {.split = options.split,
                                    .version = options.data_version,
                                    .on_corrupt = options.on_corrupt,
                                    .call = {.stop = stop}}));
  HEADRACE_CHECK(check_dataset(model, *dataset));
  const Configuration configuration = describe(model, *dataset, options);
  HEADRACE_TRY(const OutputState seen,
               examine_output(output, predict_output(), configuration, options.overwrite));
  HEADRACE_TRY(const std::optional<PublishedFolder> published, find_done(output, seen));
  PredictResult result{.shards = dataset->shards().size(), .remarks = dataset->remarks()};
  if (published) {
    for (const ManifestPart& part : published->manifest.parts) {
      result.records += part.records.value_or(0);
      result.shard_bytes += part.size_bytes;
    }
    result.was_published = true;
    return result;
  }
  HEADRACE_TRY(OwnedOutput owned,
               OwnedOutput::take(output, predict_output(), seen,
                                 {.configuration = configuration,
                                  .actor = actor,
                                  .action = OwnedOutput::action_for(seen, options.overwrite)}));
  std::vector<ShardOutcome> shards(dataset->shards().size());
  std::mutex mutex;
  HEADRACE_CHECK(parallel_for(options.workers, shards.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(shards[i],
                 predict_shard(model, *dataset, static_cast<std::uint32_t>(i), owned, options, stop));
    const std::lock_guard lock(mutex);
    result.records += shards[i].part.records.value_or(0);
    result.shard_bytes += shards[i].part.size_bytes;
    result.corrupt_records += shards[i].corrupt_records;
    for (std::string& remark : shards[i].remarks) add_remark(result.remarks, std::move(remark));
    on_records(result.records, dataset->record_count());
    return {};
  }));
  HEADRACE_CHECK(publish(model, *dataset, owned, shards, configuration_digest(configuration), actor.run));
  return result;
}

}  // namespace headrace
