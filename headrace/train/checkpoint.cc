#include "headrace/train/checkpoint.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/store/numbered.h"
#include "headrace/train/metrics_json.h"

namespace headrace {
namespace {

constexpr std::string_view kFilePrefix = "variables";

std::string step_folder(std::uint64_t step) { return concat("step-", zero_padded(step, 8)); }

std::string to_attributes(const RunState& state) {
  Json out = {{"epoch", state.epoch},
              {"step", state.step},
              {"state", state.loader_state},
              {"finished", state.finished},
              {"prefix", concat(step_folder(state.step), "/", kFilePrefix)},
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

CheckpointStore::CheckpointStore(const Location& run, std::string temporary_folder, std::string plan,
                                 std::string run_id)
    : folder_(run.at("checkpoints")),
      temporary_folder_(std::move(temporary_folder)),
      plan_(std::move(plan)),
      run_id_(std::move(run_id)) {}

Status CheckpointStore::restore(Model& model, const PublishedFolder& published) const {
  HEADRACE_TRY(const RunState state, from_attributes(published.manifest.attributes_json, folder_.describe()));
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder_));
  HEADRACE_CHECK(download_published(published, step_folder(state.step) + "/", staged.path()));
  if (Status restored = model.restore_state(concat(staged.path(), "/", kFilePrefix)); !restored) {
    // The files are as published, so it is the model that asks for other variables.
    if (restored.error().code == Code::kNotFound || restored.error().code == Code::kInvalidArgument) {
      return Error{Code::kInvalidArgument,
                   concat(folder_.at(step_folder(state.step)).describe(),
                          " holds the variables of another model; give the one that it was written by")};
    }
    return std::move(restored).error().in(
        concat("restoring ", folder_.at(step_folder(state.step)).describe()));
  }
  return {};
}

Result<std::optional<RunState>> CheckpointStore::restore_latest(Model& model) const {
  HEADRACE_TRY(const std::optional<PublishedFolder> latest, read_published(folder_, kCheckpointKind));
  if (!latest) return std::optional<RunState>();
  HEADRACE_CHECK(restore(model, *latest));
  HEADRACE_TRY(RunState state, from_attributes(latest->manifest.attributes_json, folder_.describe()));
  return std::optional(std::move(state));
}

Status CheckpointStore::restore_epoch(Model& model, std::uint64_t epoch) const {
  HEADRACE_TRY(const std::optional<std::uint64_t> latest,
               latest_number(*folder_.store, folder_.at(kManifestPrefix).key));
  for (std::uint64_t number = latest.value_or(0); number > 0; --number) {
    HEADRACE_TRY(const std::optional<PublishedFolder> published,
                 read_published(folder_, kCheckpointKind, {.number = number}));
    if (!published) continue;
    HEADRACE_TRY(const RunState state,
                 from_attributes(published->manifest.attributes_json, folder_.describe()));
    if (state.epoch == epoch) return restore(model, *published);
  }
  return Error{Code::kNotFound,
               concat("there is no checkpoint of epoch ", epoch, " in ", folder_.describe())};
}

Status CheckpointStore::save(Model& model, const RunState& state) {
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder_));
  HEADRACE_CHECK(model.save_state(concat(staged.path(), "/", kFilePrefix)));
  HEADRACE_TRY(const std::optional<std::uint64_t> latest,
               latest_number(*folder_.store, folder_.at(kManifestPrefix).key));
  Manifest manifest{.kind = std::string(kCheckpointKind),
                    .created_by = run_id_,
                    .plan = plan_,
                    .attributes_json = to_attributes(state)};
  const auto published =
      publish_folder(staged.path(), folder_, step_folder(state.step), concat(kFilePrefix, ".index"),
                     "variables", std::move(manifest), latest.value_or(0) + 1);
  return published ? Status{} : Status(published.error());
}

}  // namespace headrace
