#include "headrace/track/published_folder.h"

#include <filesystem>
#include <fstream>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/versions.h"

namespace headrace {
namespace {

constexpr std::uint64_t kPartLimitBytes = std::uint64_t{16} << 30;

Status download_part(const Location& object, const ManifestPart& part, const std::filesystem::path& target) {
  std::error_code ignored;
  std::filesystem::create_directories(target.parent_path(), ignored);
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  const auto found = object.store->stat(object.key, {});
  if (!found && found.error().code == Code::kNotFound)
    return Error{Code::kDataLoss, concat(object.describe(), " is missing, although a manifest names it",
                                         "; restore it, or start the run over with --overwrite")};
  if (!found) return found.error();
  std::uint32_t crc = 0;
  std::uint64_t size_bytes = 0;
  HEADRACE_CHECK(read_in_pieces(*object.store, *found, {}, [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    size_bytes += piece.size();
    file.write(as_text(piece).data(), static_cast<std::streamsize>(piece.size()));
    return file.good() ? Status{}
                       : Status(Error{Code::kResourceExhausted,
                                      concat("writing ", target.string(), " failed: is the disk full?")});
  }));
  file.close();
  if (file.fail())
    return Error{Code::kResourceExhausted, concat("writing ", target.string(), " failed: is the disk full?")};
  if (crc == part.crc32c && size_bytes == part.size_bytes) return {};
  return Error{Code::kDataLoss,
               concat(object.describe(), " was altered since it was published (", size_bytes,
                      " bytes, checksum ", hex32(crc), "; published with ", part.size_bytes, " and ",
                      hex32(part.crc32c), "); restore it, or start the run over with --overwrite")};
}

}  // namespace

Result<std::optional<PublishedFolder>> read_published(const Location& folder, const ManifestChoice& choice) {
  HEADRACE_TRY(const std::optional<NumberedObject> object,
               choice.number ? read_number(folder, *choice.number, choice.call)
                             : read_current_manifest(folder, choice.call));
  if (!object) return std::optional<PublishedFolder>();
  const std::string name = folder.store->describe(object->object.key);
  if (is_entry(object->data)) {
    return Error{Code::kInvalidArgument,
                 concat(name,
                        " is an entry of ownership, and publishes nothing; headrace verify lists the "
                        "manifests")};
  }
  auto manifest = parse_manifest(object->data);
  if (!manifest) return std::move(manifest).error().in(name);
  return std::optional(
      PublishedFolder{folder, object->number, sha256_hex(object->data), *std::move(manifest)});
}

Result<std::optional<PublishedFolder>> read_published(const Location& folder, std::string_view kind,
                                                      const ManifestChoice& choice) {
  HEADRACE_TRY(std::optional<PublishedFolder> published, read_published(folder, choice));
  if (!published || published->manifest.kind == kind) return published;
  return Error{Code::kInvalidArgument, concat(folder.describe(), " is a ", published->manifest.kind,
                                              " folder, not a ", kind, " folder")};
}

Result<std::optional<PublishedFolder>> find_manifest(const Location& folder, std::uint64_t number,
                                                     const CallOptions& call) {
  auto published = read_published(folder, {.number = number, .call = call});
  const bool is_entry = !published && published.error().code == Code::kInvalidArgument;
  return is_entry ? std::optional<PublishedFolder>() : std::move(published);
}

Result<std::optional<PublishedFolder>> open_version(const Location& folder, const ManifestChoice& choice) {
  if (choice.number) HEADRACE_CHECK(read_version(folder, *choice.number, choice.call));
  return read_published(folder, choice);
}

namespace {

// The error for a part that cannot be read. A process that overwrites or removes the folder also removes the
// parts of the manifest that was read.
Error part_error(const PublishedFolder& published, Error error) {
  const auto chain = read_chain(published.folder);
  const bool is_current = !chain || chain->damage || chain->counts(published.number);
  if (error.code != Code::kDataLoss || is_current) return error;
  return {Code::kAborted,
          concat(published.folder.describe(),
                 " was overwritten or removed while it was read; run the same command again")};
}

}  // namespace

Status download_published(const PublishedFolder& published, std::string_view below,
                          const std::string& target) {
  std::uint64_t total = 0;
  for (const ManifestPart& part : published.manifest.parts) {
    if (!part.key.starts_with(below)) continue;
    total += part.size_bytes;
    if (total > kPartLimitBytes)
      return Error{Code::kResourceExhausted,
                   concat(published.folder.describe(), " is larger than ", format_size(kPartLimitBytes))};
    // The key came from a store: it must not lead out of the target.
    HEADRACE_CHECK(check_key(part.key));
    const Status copied = download_part(published.folder.at(part.key), part,
                                        std::filesystem::path(target) / part.key.substr(below.size()));
    if (!copied) return part_error(published, copied.error());
  }
  return {};
}

std::string folder_of_part(const Manifest& manifest, std::string_view name) {
  for (const ManifestPart& part : manifest.parts) {
    const std::string_view key = part.key;
    if (key.ends_with(concat("/", name))) return std::string(key.substr(0, key.size() - name.size()));
  }
  return "";
}

Result<Published> publish_folder(const std::string& source, Ownership& ownership, std::string_view below,
                                 std::string_view last, std::string_view role, Manifest manifest) {
  const Location& folder = ownership.folder();
  const Location target = below.empty() ? folder : folder.at(below);
  auto uploaded = upload_folder(source, *folder.store, target.key, last, {.only_if_absent = true});
  if (!uploaded && uploaded.error().code == Code::kAlreadyExists) {
    // Without a suffix of the owner, names may have been taken by copies that a later owner made.
    HEADRACE_TRY(const ChainState chain, read_chain(folder));
    if (chain.last > ownership.last()) return lost_output(folder, ownership.last() + 1);
  }
  HEADRACE_TRY(const std::vector<StagedFile> files, std::move(uploaded));
  const std::size_t prefix = folder.key.empty() ? 0 : folder.key.size() + 1;
  for (const StagedFile& file : files) {
    manifest.parts.push_back({.key = file.key.substr(prefix),
                              .size_bytes = file.size_bytes,
                              .crc32c = file.crc32c,
                              .role = std::string(role)});
  }
  return ownership.publish(std::move(manifest));
}

}  // namespace headrace
