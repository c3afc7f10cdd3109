#include "headrace/train/export.h"

#include <algorithm>
#include <filesystem>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "saved_model";
constexpr std::string_view kLastFile = "saved_model.pb";
constexpr std::uint64_t kEntryLimitBytes = 1 << 20;
constexpr int kVersionAttempts = 100;

std::string export_attributes(const TracedModel& traced, const ExportDescription& description) {
  return Json{{"labels", description.labels},
              {"encoder",
               {{"name", description.encoder.name},
                {"weights_digest", description.encoder.weights_digest},
                {"dimension", description.encoder.dimension}}},
              {"features",
               {{description.features,
                 {{"dtype", "float32"}, {"shape", Json::array({description.features_width})}}}}},
              {"label_feature", description.label_feature},
              {"metrics", traced.metric_names},
              {"model", traced.model},
              {"versions", traced.versions},
              {"epoch", description.epoch},
              {"step", description.step}}
      .dump();
}

// Takes the next version number for this export, or finds the one it has taken before.
Result<std::uint64_t> take_version(const Location& model, const Location& exported, std::string_view digest) {
  const std::string prefix = model.at("_headrace/version-").key;
  const std::string entry = Json{{"run", exported.url.text()}, {"manifest_digest", digest}}.dump() + "\n";
  for (int attempt = 0; attempt < kVersionAttempts; ++attempt) {
    HEADRACE_TRY(const std::optional<NumberedObject> latest,
                 read_latest(*model.store, prefix, kEntryLimitBytes));
    if (latest && as_text(latest->data) == entry) return latest->number;
    const std::uint64_t next = latest ? latest->number + 1 : 1;
    const auto created = create_numbered(*model.store, prefix, next, as_bytes(entry));
    if (created) return next;
    if (created.error().code != Code::kAlreadyExists) return created.error();
  }
  return Error{Code::kAborted, concat("no version of ", model.describe(),
                                      " could be taken: too many others publish at the same time")};
}

// Does an entry of the alias log say that "latest" is this version?
bool names_version(std::string_view entry, std::uint64_t version) {
  const Json from = parse_json(entry).value_or(Json());
  return from["alias"] == "latest" && from["version"] == version;
}

Status append_alias(const Location& model, std::uint64_t version, std::string_view run_id) {
  const std::string prefix = model.at("_headrace/aliases-").key;
  const std::string entry = Json{{"alias", "latest"}, {"version", version}, {"by", run_id}}.dump() + "\n";
  for (int attempt = 0; attempt < kVersionAttempts; ++attempt) {
    HEADRACE_TRY(const std::optional<NumberedObject> latest,
                 read_latest(*model.store, prefix, kEntryLimitBytes));
    if (latest && names_version(as_text(latest->data), version)) return {};
    const auto created =
        create_numbered(*model.store, prefix, latest ? latest->number + 1 : 1, as_bytes(entry));
    if (created) return {};
    if (created.error().code != Code::kAlreadyExists) return created.error();
  }
  return Error{Code::kAborted,
               concat("the alias log of ", model.describe(), " is being written by too many others")};
}

}  // namespace

Result<std::string> export_model(Model& model, const TracedModel& traced, const Location& folder,
                                 const ExportDescription& description, const std::string& temporary_folder,
                                 std::string_view plan, std::string_view run_id) {
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder));
  std::error_code error;
  std::filesystem::copy(traced.saved_model_folder, staged.path(), std::filesystem::copy_options::recursive,
                        error);
  std::filesystem::remove_all(staged.path() + "/variables", error);
  if (error)
    return Error{Code::kResourceExhausted,
                 concat("copying the SavedModel to ", staged.path(), ": ", error.message())};
  HEADRACE_CHECK(model.save_state(staged.path() + "/variables/variables"));
  Manifest manifest{.kind = std::string(kKind),
                    .created_by = std::string(run_id),
                    .plan = std::string(plan),
                    .attributes_json = export_attributes(traced, description)};
  return publish_folder(staged.path(), folder, "", kLastFile, "model", std::move(manifest), 1);
}

Status check_model_name(std::string_view name) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  const bool is_name = !name.empty() && name.size() <= 128 &&
                       name.find_first_not_of(kAllowed) == std::string_view::npos && name.front() != '.' &&
                       name.front() != '_' && name.front() != '-';
  if (is_name) return {};
  return Error{Code::kInvalidArgument, concat("--name ", name,
                                              ": a model's name has 1 to 128 letters, digits, '.', '_' or "
                                              "'-', and begins with a letter or digit")};
}

Result<NamedVersion> publish_named_model(const Location& root, std::string_view name,
                                         const Location& exported, std::string_view digest,
                                         std::string_view run_id) {
  HEADRACE_CHECK(check_model_name(name));
  const Location model = root.at(concat("models/", name));
  HEADRACE_TRY(const std::optional<PublishedFolder> source, read_published(exported, kKind));
  if (!source) return Error{Code::kNotFound, concat(exported.describe(), " is not published")};
  NamedVersion out;
  HEADRACE_TRY(out.version, take_version(model, exported, digest));
  out.folder = model.at(concat(out.version));
  std::vector<ManifestPart> parts = source->manifest.parts;
  std::stable_partition(parts.begin(), parts.end(),
                        [](const ManifestPart& part) { return part.key != kLastFile; });
  if (exported.store != out.folder.store)
    return Error{Code::kInternal, "a named model must lie in the store of its run"};
  for (const ManifestPart& part : parts) {
    HEADRACE_CHECK(exported.store->copy(exported.at(part.key).key, out.folder.at(part.key).key, {}));
  }
  const auto created = create_numbered(*out.folder.store, out.folder.at(kManifestPrefix).key, 1,
                                       as_bytes(serialize_manifest(source->manifest)));
  if (!created && created.error().code != Code::kAlreadyExists) return created.error();
  HEADRACE_CHECK(append_alias(model, out.version, run_id));
  return out;
}

}  // namespace headrace
