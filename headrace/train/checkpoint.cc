#include "headrace/train/checkpoint.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/train/metrics_json.h"

namespace headrace {
namespace {

constexpr std::string_view kFilePrefix = "variables";

std::string step_folder(std::uint64_t step, std::string_view suffix) {
  return concat("step-", zero_padded(step, 8), suffix);
}

std::string to_attributes(const RunState& state, std::string_view folder) {
  Json out = {{"epoch", state.epoch},
              {"step", state.step},
              {"state", state.loader_state},
              {"finished", state.finished},
              {"prefix", concat(folder, "/", kFilePrefix)},
              {"history", Json::array()}};
  for (const EpochMetrics& metrics : state.history) out["history"].push_back(metrics_to_json(metrics));
  return out.dump();
}

Result<RunState> from_attributes(const std::string& text, const std::string& where) {
  const std::string complaint =
      concat("the checkpoint's manifest in ", where, " is not as docs/formats/run-layout.md says");
  return read_json(text, complaint, [](const Json& from) -> Result<RunState> {
    RunState state{.epoch = from.get<std::uint64_t>("epoch"),
                   .step = from.get<std::uint64_t>("step"),
                   .loader_state = from.get<std::string>("state")};
    for (const Json& metrics : from.at("history").values())
      state.history.push_back(metrics_from_json(metrics));
    state.finished = from.get<bool>("finished");
    return state;
  });
}

}  // namespace

Result<RunState> read_state(const PublishedFolder& checkpoint) {
  return from_attributes(checkpoint.manifest.attributes_json, checkpoint.folder.describe());
}

Status restore_checkpoint(Model& model, const PublishedFolder& checkpoint,
                          const std::string& temporary_folder) {
  const std::string folder = folder_of_part(checkpoint.manifest, concat(kFilePrefix, ".index"));
  const std::string name = checkpoint.folder.at(folder.substr(0, folder.find('/'))).describe();
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder));
  HEADRACE_CHECK(download_published(checkpoint, folder, staged.path()));
  Status restored = model.restore_state(concat(staged.path(), "/", kFilePrefix));
  if (restored) return restored;
  // The files are intact, so the model must have different variables.
  if (restored.error().code == Code::kNotFound || restored.error().code == Code::kInvalidArgument) {
    return Error{Code::kInvalidArgument,
                 concat(name, " holds the variables of another model; give the model that wrote it")};
  }
  return std::move(restored).error().in(concat("restoring ", name));
}

CheckpointStore::CheckpointStore(OwnedOutput& run, std::string temporary_folder, std::string plan,
                                 std::string run_id)
    : run_(run),
      temporary_folder_(std::move(temporary_folder)),
      plan_(std::move(plan)),
      run_id_(std::move(run_id)) {}

Result<std::optional<RunState>> CheckpointStore::restore_latest(Model& model) const {
  HEADRACE_TRY(const std::optional<PublishedFolder> latest, run_.published(kCheckpointsFolder));
  if (!latest) return std::optional<RunState>();
  HEADRACE_CHECK(restore_checkpoint(model, *latest, temporary_folder_));
  HEADRACE_TRY(RunState state, read_state(*latest));
  return std::optional(std::move(state));
}

Status CheckpointStore::restore_epoch(Model& model, std::uint64_t epoch) const {
  const Ownership& checkpoints = std::as_const(run_).in(kCheckpointsFolder);
  for (std::uint64_t number = checkpoints.last(); number > checkpoints.generation(); --number) {
    HEADRACE_TRY(const auto published, find_manifest(checkpoints.folder(), number));
    if (!published) continue;
    HEADRACE_TRY(const RunState state, read_state(*published));
    if (state.epoch == epoch) return restore_checkpoint(model, *published, temporary_folder_);
  }
  return Error{Code::kNotFound,
               concat("there is no checkpoint of epoch ", epoch, " in ", checkpoints.folder().describe())};
}

Status CheckpointStore::save(Model& model, const RunState& state) {
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder_));
  HEADRACE_CHECK(model.save_state(concat(staged.path(), "/", kFilePrefix)));
  const std::string folder = step_folder(state.step, run_.suffix());
  Manifest manifest{.kind = std::string(kCheckpointKind),
                    .created_by = run_id_,
                    .plan = plan_,
                    .attributes_json = to_attributes(state, folder)};
  const auto published = publish_folder(staged.path(), run_.in(kCheckpointsFolder), folder,
                                        concat(kFilePrefix, ".index"), "variables", std::move(manifest));
  return published ? Status{} : Status(published.error());
}

}  // namespace headrace
