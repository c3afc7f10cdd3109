#include "headrace/train/export.h"

#include <algorithm>
#include <filesystem>

#include "headrace/base/crc32c.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/model/export_files.h"
#include "headrace/model/named_model.h"
#include "headrace/store/url.h"
#include "headrace/track/created_once.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

std::string export_attributes(const TracedModel& traced, const ExportDescription& description) {
  Json out = to_json(description.contract);
  out["model"] = traced.model;
  out["versions"] = traced.versions;
  out["epoch"] = description.epoch;
  out["step"] = description.step;
  return out.dump();
}

// Whether the object at `key` has the size and the checksum of `part`.
Result<bool> is_copy(Store& store, const std::string& key, const ManifestPart& part) {
  const auto object = store.stat(key, {});
  if (!object && object.error().code != Code::kNotFound) return object.error();
  if (!object || object->size_bytes != part.size_bytes) return false;
  std::uint32_t crc = 0;
  HEADRACE_CHECK(read_in_pieces(store, *object, {}, [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    return {};
  }));
  return crc == part.crc32c;
}

// Reads the export, if it still has this digest.
Result<PublishedFolder> read_export(const Location& exported, std::string_view digest,
                                    std::string_view name) {
  HEADRACE_TRY(std::optional<PublishedFolder> found, read_published(exported, kExportKind));
  if (!found) return Error{Code::kNotFound, concat(exported.describe(), " is not published")};
  if (found->digest == digest) return *std::move(found);
  return Error{Code::kAborted,
               concat(exported.describe(), " was overwritten before it could be published as ", name,
                      "; the name is unchanged")};
}

// Copies an export to the folder of its version, unless the version is already published. A version has no
// owner, but its number stands for one export, so all processes that publish the version publish the same
// bytes. A process that overwrites the run publishes in the run before it replaces files with fixed names. So
// if the export is still current after the copy, the copied bytes are the export's.
Status publish_version(const PublishedFolder& source, const Location& version, std::string_view name) {
  const Location& exported = source.folder;
  if (exported.store != version.store)
    return Error{Code::kInternal, "a named model must lie in the store of its run"};
  HEADRACE_TRY(const ChainState seen, read_chain(version));
  HEADRACE_TRY(const std::optional<PublishedFolder> before, read_published(version, kExportKind));
  if (before) return {};
  const std::size_t below = folder_of_part(source.manifest, kSavedModelFile).size();
  Manifest manifest = source.manifest;
  manifest.parts = with_saved_model_last(std::move(manifest.parts));
  for (ManifestPart& part : manifest.parts) {
    const Location from = exported.at(part.key);
    part.key = part.key.substr(below);
    HEADRACE_CHECK(copy_once(from, version.at(part.key), part.size_bytes, part.crc32c));
  }
  HEADRACE_CHECK(read_export(exported, source.digest, name));
  HEADRACE_CHECK(Ownership(version, 0, 0, seen.last).publish(std::move(manifest)));
  return {};
}

}  // namespace

Result<std::string> export_model(Model& model, const TracedModel& traced, OwnedOutput& run,
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
  Manifest manifest{.kind = std::string(kExportKind),
                    .created_by = std::string(run_id),
                    .plan = std::string(plan),
                    .attributes_json = export_attributes(traced, description)};
  HEADRACE_TRY(const Published published,
               publish_folder(staged.path(), run.in(kExportFolder), run.files_folder(), kSavedModelFile,
                              "model", std::move(manifest)));
  return published.digest;
}

Status copy_to_fixed_names(const PublishedFolder& exported) {
  const std::string folder = folder_of_part(exported.manifest, kSavedModelFile);
  if (folder.empty()) return {};
  Store& store = *exported.folder.store;
  for (const ManifestPart& part : with_saved_model_last(exported.manifest.parts)) {
    const std::string from = exported.folder.at(part.key).key;
    const std::string to = exported.folder.at(part.key.substr(folder.size())).key;
    HEADRACE_TRY(const bool is_there, is_copy(store, to, part));
    if (!is_there) HEADRACE_CHECK(store.copy(from, to, {}));
  }
  return {};
}

Result<NamedVersion> publish_named_model(const Location& root, std::string_view name,
                                         const Location& exported, std::string_view digest,
                                         std::string_view run_id) {
  HEADRACE_CHECK(check_model_name(name));
  const Location model = named_model_folder(root, name);
  HEADRACE_TRY(const PublishedFolder source, read_export(exported, digest, name));
  NamedVersion out;
  HEADRACE_TRY(out.version, take_version(model, exported.url.text(), digest));
  out.folder = version_folder(model, out.version);
  HEADRACE_CHECK(publish_version(source, out.folder, name));
  HEADRACE_CHECK(advance_latest(model, out.version, run_id));
  return out;
}

}  // namespace headrace
