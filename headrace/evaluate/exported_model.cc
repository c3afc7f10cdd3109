#include "headrace/evaluate/exported_model.h"

#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

// Finds the published export. `run` is the folder of the run or of its export.
Result<PublishedFolder> find_export(const Location& run) {
  HEADRACE_TRY(std::optional<PublishedFolder> published, read_published(run.at("export"), kExportKind));
  if (published) return *std::move(published);
  HEADRACE_TRY(published, read_published(run));
  if (published && published->manifest.kind == kExportKind) return *std::move(published);
  if (published) {
    return Error{Code::kInvalidArgument,
                 concat(run.describe(), " is a ", published->manifest.kind, " folder, not a training run")};
  }
  HEADRACE_TRY(const bool was_begun, is_begun(run));
  if (!was_begun)
    return Error{Code::kNotFound,
                 concat("there is no run in ", run.describe(), ": headrace train makes one")};
  return Error{Code::kFailedPrecondition,
               concat("the run in ", run.describe(),
                      " has not exported a model yet, because its training has not finished. To continue "
                      "the training, run the same headrace train command again")};
}

}  // namespace

Result<ExportedModel> open_exported_model(const Location& run, Engine& engine,
                                          const std::string& temporary_folder, int intra_op_threads) {
  HEADRACE_TRY(const PublishedFolder published, find_export(run));
  auto contract = parse_contract(published.manifest.attributes_json);
  if (!contract) {
    return std::move(contract).error().in(
        concat("the manifest of ", published.folder.describe(), " is not as docs/formats/manifest.md says"));
  }
  HEADRACE_TRY(StagedFolder files, StagedFolder::create(temporary_folder));
  HEADRACE_CHECK(
      download_published(published, folder_of_part(published.manifest, kSavedModelFile), files.path()));
  auto model =
      engine.load(files.path(), {.name = published.folder.describe(), .intra_op_threads = intra_op_threads});
  if (!model) return std::move(model).error().in(concat("loading ", published.folder.describe()));
  return ExportedModel{published.folder, published.digest, *std::move(contract), std::move(files),
                       *std::move(model)};
}

Status check_dataset(const ExportedModel& model, const Dataset& dataset, bool with_labels) {
  if (!dataset.attributes()) return {};
  const std::string where = dataset.describe();
  const auto check = [&]() -> Status {
    HEADRACE_CHECK(check_inputs(model.contract, *dataset.attributes(), where));
    return with_labels ? check_targets(model.contract, *dataset.attributes(), where) : Status();
  };
  Status fits = check();
  return fits ? Status() : Status(std::move(fits).error().in(model.folder.describe()));
}

}  // namespace headrace
