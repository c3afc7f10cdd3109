#include "headrace/predict/predict.h"

#include <mutex>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/evaluate/evaluation.h"
#include "headrace/os/parallel.h"
#include "headrace/predict/answer_writer.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "predictions";

struct PieceOutcome {
  ManifestPart part;
  std::uint64_t left_out = 0;
  std::vector<std::string> remarks;
};

Result<std::unique_ptr<PredictionShard>> start_shard(const Location& output, const std::string& name,
                                                     const PredictOptions& options) {
  if (options.format != PredictionFormat::kParquet) return start_gzip_shard(output, name);
  return start_parquet_shard(output, name, options.temporary_folder, options.to_parquet);
}

// Answers the rows of one piece in their order.
Result<PieceOutcome> predict_piece(const ExportedModel& model, const PredictInput& input, std::size_t piece,
                                   const OwnedOutput& output, const PredictOptions& options,
                                   const std::stop_token& stop) {
  const std::string name =
      prediction_shard_name(piece, input.pieces(), output.suffix(), prediction_ending(options.format));
  HEADRACE_TRY(const std::unique_ptr<PredictionShard> shard, start_shard(output.output(), name, options));
  HEADRACE_TRY(const std::unique_ptr<PieceReader> reader, input.open(piece, options.batch_size, stop));
  HEADRACE_TRY(AnswerWriter answers, AnswerWriter::create(model, {options.format, input.names()},
                                                          [&](BytesView bytes, std::uint64_t rows) {
                                                            return shard->add(bytes, rows);
                                                          }));
  while (true) {
    Result<std::optional<PredictRows>> rows = reader->next();
    if (!rows && rows.error().code == Code::kCancelled)
      return Error{Code::kCancelled, "predicting was stopped; run the same command to start it again"};
    if (!rows) return std::move(rows).error();
    if (!*rows) break;
    HEADRACE_CHECK(answers.add(**rows));
  }
  HEADRACE_CHECK(answers.finish());
  PieceOutcome outcome{.left_out = reader->left_out(), .remarks = reader->remarks()};
  HEADRACE_TRY(outcome.part, shard->finish());
  return outcome;
}

Configuration describe(const ExportedModel& model, const PredictInput& input, const PredictOptions& options) {
  Configuration out = input.configuration();
  out["stage"] = "predict 4";
  out["model"] = model.folder.url.text();
  out["model manifest"] = model.digest;
  if (model.is_foreign()) {
    // The model itself does not define how it is called.
    out["signature"] = model.signature;
    out["contract"] = sha256_hex(as_bytes(to_json(model.contract).dump()));
  }
  out["batch-size"] = concat(options.batch_size);
  out["format"] = prediction_format_name(options.format);
  out["compressor"] = deflate_fingerprint();
  return out;
}

std::vector<std::string> names_with(std::string_view suffix) {
  std::vector<std::string> names;
  for (const auto format : {PredictionFormat::kJsonLines, PredictionFormat::kCsv, PredictionFormat::kTfrecord,
                            PredictionFormat::kParquet})
    names.push_back(concat("predictions-#####-of-#####", suffix, prediction_ending(format)));
  return names;
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

Status publish(const ExportedModel& model, const Configuration& configuration, OwnedOutput& output,
               const std::vector<PieceOutcome>& pieces, std::string_view run_id) {
  Manifest manifest{.kind = std::string(kKind),
                    .created_by = std::string(run_id),
                    .plan = configuration_digest(configuration)};
  std::uint64_t records = 0;
  for (const PieceOutcome& piece : pieces) {
    manifest.parts.push_back(piece.part);
    records += piece.part.records.value_or(0);
  }
  const Json binding = binding_with_classes(model.contract);
  manifest.attributes_json = Json{{"model", model.folder.url.text()}, {"model_digest", model.digest},
                                  {"configuration", configuration},   {"outputs", binding.at("outputs")},
                                  {"targets", binding.at("targets")}, {"records", records}}
                                 .dump();
  auto published = output.in("").publish(std::move(manifest));
  if (!published) return std::move(published).error().in("publishing the predictions");
  return remove_superseded(output.output(), predict_output(), output.generation(), output.entry());
}

// Returns the predictions that were published with the same configuration; none if there are none.
Result<std::optional<PublishedFolder>> find_done(const Location& output, const OutputState& seen) {
  if (!seen.is_own || seen.chain.published_now() == 0) return std::optional<PublishedFolder>();
  HEADRACE_CHECK(remove_superseded(output, predict_output(), seen.chain.generation(), seen.chain.entry));
  return read_published(output, kKind, {.number = seen.chain.published_now()});
}

}  // namespace

Result<PredictResult> predict(const ExportedModel& model, const PredictInput& input, const Location& output,
                              const PredictOptions& options, const Actor& actor, const OnRows& on_rows,
                              const std::stop_token& stop) {
  const Configuration configuration = describe(model, input, options);
  HEADRACE_TRY(const OutputState seen,
               examine_output(output, predict_output(), configuration, options.overwrite));
  HEADRACE_TRY(const std::optional<PublishedFolder> published, find_done(output, seen));
  PredictResult result{.shards = input.pieces(), .remarks = input.remarks()};
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
  std::vector<PieceOutcome> pieces(input.pieces());
  std::mutex mutex;
  HEADRACE_CHECK(parallel_for(options.workers, pieces.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(pieces[i], predict_piece(model, input, i, owned, options, stop));
    const std::lock_guard lock(mutex);
    result.records += pieces[i].part.records.value_or(0);
    result.shard_bytes += pieces[i].part.size_bytes;
    result.left_out += pieces[i].left_out;
    on_rows(result.records, input.records());
    return {};
  }));
  for (PieceOutcome& piece : pieces) {
    for (std::string& remark : piece.remarks) add_remark(result.remarks, std::move(remark));
  }
  HEADRACE_CHECK(publish(model, configuration, owned, pieces, actor.run));
  return result;
}

}  // namespace headrace
