#include "headrace/train/export.h"

#include <algorithm>
#include <filesystem>

#include "headrace/base/crc32c.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/store/numbered.h"
#include "headrace/store/url.h"
#include "headrace/track/created_once.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "saved_model";
constexpr std::string_view kLastFile = "saved_model.pb";
constexpr std::string_view kVersionPrefix = "_headrace/version-";
constexpr std::uint64_t kEntryLimitBytes = 1 << 20;
constexpr int kVersionAttempts = 100;

std::string export_attributes(const TracedModel& traced, const ExportDescription& description) {
  Json out = to_json(description.contract);
  out["model"] = traced.model;
  out["versions"] = traced.versions;
  out["epoch"] = description.epoch;
  out["step"] = description.step;
  return out.dump();
}

// saved_model.pb comes last: whoever sees it finds all others.
std::vector<ManifestPart> with_last_file_at_the_end(std::vector<ManifestPart> parts) {
  std::stable_partition(parts.begin(), parts.end(),
                        [](const ManifestPart& part) { return last_segment(part.key) != kLastFile; });
  return parts;
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

// The number of the version that has this entry; none if no version has it. Cost: a read for each version.
Result<std::optional<std::uint64_t>> find_version(const Location& model, std::string_view entry) {
  const std::string prefix = model.at(kVersionPrefix).key;
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, present_numbers(*model.store, prefix));
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    HEADRACE_TRY(const ReadObject read,
                 read_object(*model.store, numbered_key(prefix, *number), kEntryLimitBytes));
    if (as_text(read.data) == entry) return std::optional(*number);
  }
  return std::optional<std::uint64_t>();
}

// Finds the version number that this export took before, or takes the next one.
Result<std::uint64_t> take_version(const Location& model, const Location& exported, std::string_view digest) {
  const std::string prefix = model.at(kVersionPrefix).key;
  const std::string entry = Json{{"run", exported.url.text()}, {"manifest_digest", digest}}.dump() + "\n";
  HEADRACE_TRY(const std::optional<std::uint64_t> before, find_version(model, entry));
  if (before) return *before;
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

// The export, if it is still the one with this digest.
Result<PublishedFolder> read_export(const Location& exported, std::string_view digest,
                                    std::string_view name) {
  HEADRACE_TRY(std::optional<PublishedFolder> found, read_published(exported, kKind));
  if (!found) return Error{Code::kNotFound, concat(exported.describe(), " is not published")};
  if (found->digest == digest) return *std::move(found);
  return Error{Code::kAborted,
               concat(exported.describe(), " was overwritten before it could be published as ", name,
                      "; the name is as it was")};
}

// Copies an export to the folder of its version, unless that is published already. Versions are not owned:
// their numbers are, so all who publish one publish the same. A process that overwrites the run publishes
// there before it replaces files with fixed names. So if the export is still current after the copy, its
// bytes were copied.
Status publish_version(const PublishedFolder& source, const Location& version, std::string_view name) {
  const Location& exported = source.folder;
  if (exported.store != version.store)
    return Error{Code::kInternal, "a named model must lie in the store of its run"};
  HEADRACE_TRY(const ChainState seen, read_chain(version));
  HEADRACE_TRY(const std::optional<PublishedFolder> before, read_published(version, kKind));
  if (before) return {};
  const std::size_t below = folder_of_part(source.manifest, kLastFile).size();
  Manifest manifest = source.manifest;
  manifest.parts = with_last_file_at_the_end(std::move(manifest.parts));
  for (ManifestPart& part : manifest.parts) {
    const Location from = exported.at(part.key);
    part.key = part.key.substr(below);
    HEADRACE_CHECK(copy_once(from, version.at(part.key), part.size_bytes, part.crc32c));
  }
  HEADRACE_CHECK(read_export(exported, source.digest, name));
  HEADRACE_CHECK(Ownership(version, 0, 0, seen.last).publish(std::move(manifest)));
  return {};
}

// The alias log up to some number of entries.
struct AliasLog {
  std::uint64_t entries = 0;
  std::uint64_t latest_version = 0;  // of the alias "latest"; 0: it names none yet
};

Result<AliasLog> read_aliases(const Location& model, const std::string& prefix) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers, present_numbers(*model.store, prefix));
  AliasLog log{.entries = numbers.empty() ? 0 : numbers.back()};
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    HEADRACE_TRY(const ReadObject read,
                 read_object(*model.store, numbered_key(prefix, *number), kEntryLimitBytes));
    const Json entry = parse_json(as_text(read.data)).value_or(Json());
    if (entry["alias"] != "latest" || !entry["version"].is_unsigned()) continue;
    log.latest_version = entry["version"].as<std::uint64_t>();
    break;
  }
  return log;
}

// Lets the alias "latest" name this version, unless it names a later one: a publisher that is slow, or that
// repeats what it has done, does not move it back.
Status advance_alias(const Location& model, std::uint64_t version, std::string_view run_id) {
  const std::string prefix = model.at("_headrace/aliases-").key;
  const std::string entry = Json{{"alias", "latest"}, {"version", version}, {"by", run_id}}.dump() + "\n";
  for (int attempt = 0; attempt < kVersionAttempts; ++attempt) {
    HEADRACE_TRY(const AliasLog log, read_aliases(model, prefix));
    if (log.latest_version >= version) return {};
    const auto created = create_numbered(*model.store, prefix, log.entries + 1, as_bytes(entry));
    if (created) return {};
    if (created.error().code != Code::kAlreadyExists) return created.error();
  }
  return Error{Code::kAborted,
               concat("the alias log of ", model.describe(), " is being written by too many others")};
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
  Manifest manifest{.kind = std::string(kKind),
                    .created_by = std::string(run_id),
                    .plan = std::string(plan),
                    .attributes_json = export_attributes(traced, description)};
  HEADRACE_TRY(const Published published,
               publish_folder(staged.path(), run.in(kExportFolder), run.files_folder(), kLastFile, "model",
                              std::move(manifest)));
  return published.digest;
}

Status copy_to_fixed_names(const PublishedFolder& exported) {
  const std::string folder = folder_of_part(exported.manifest, kLastFile);
  if (folder.empty()) return {};
  Store& store = *exported.folder.store;
  for (const ManifestPart& part : with_last_file_at_the_end(exported.manifest.parts)) {
    const std::string from = exported.folder.at(part.key).key;
    const std::string to = exported.folder.at(part.key.substr(folder.size())).key;
    HEADRACE_TRY(const bool is_there, is_copy(store, to, part));
    if (!is_there) HEADRACE_CHECK(store.copy(from, to, {}));
  }
  return {};
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
  HEADRACE_TRY(const PublishedFolder source, read_export(exported, digest, name));
  NamedVersion out;
  HEADRACE_TRY(out.version, take_version(model, exported, digest));
  out.folder = model.at(concat(out.version));
  HEADRACE_CHECK(publish_version(source, out.folder, name));
  HEADRACE_CHECK(advance_alias(model, out.version, run_id));
  return out;
}

}  // namespace headrace
