#include "headrace/track/published_folder.h"

#include <filesystem>
#include <fstream>

#include "headrace/base/crc32c.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/numbered.h"

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

Error published_twice(const PublishedFolder& other, std::string_view what_to_do) {
  return {
      Code::kAborted,
      concat(other.folder.store->describe(numbered_key(other.folder.at(kManifestPrefix).key, other.number)),
             " was published by another process in the meantime", what_to_do)};
}

// The digest of the manifest that is there, if it is of the same plan.
Result<std::string> same_plan(const PublishedFolder& there, const Manifest& wanted) {
  if (there.manifest.plan == wanted.plan) return there.digest;
  return published_twice(there, ": is the same run being trained twice?");
}

// Names, sizes and checksums of the parts.
std::string parts_text(const Manifest& manifest) { return serialize_manifest({.parts = manifest.parts}); }

}  // namespace

Result<std::optional<PublishedFolder>> read_published(const Location& folder, const ManifestChoice& choice) {
  const std::string prefix = folder.at(kManifestPrefix).key;
  std::optional<std::uint64_t> number = choice.number;
  if (!number) {
    HEADRACE_TRY(number, latest_number(*folder.store, prefix, choice.call));
  }
  if (!number) return std::optional<PublishedFolder>();
  const std::string key = numbered_key(prefix, *number);
  const auto read = read_object(*folder.store, key, kManifestLimitBytes, choice.call);
  if (!read && read.error().code == Code::kNotFound) return std::optional<PublishedFolder>();
  if (!read) return read.error();
  auto manifest = parse_manifest(read->data);
  if (!manifest) return std::move(manifest).error().in(folder.store->describe(key));
  return std::optional(PublishedFolder{folder, *number, sha256_hex(read->data), *std::move(manifest)});
}

Result<std::optional<PublishedFolder>> read_published(const Location& folder, std::string_view kind,
                                                      const ManifestChoice& choice) {
  HEADRACE_TRY(std::optional<PublishedFolder> published, read_published(folder, choice));
  if (!published || published->manifest.kind == kind) return published;
  return Error{Code::kInvalidArgument, concat(folder.describe(), " is a ", published->manifest.kind,
                                              " folder, not a ", kind, " folder")};
}

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
    HEADRACE_CHECK(download_part(published.folder.at(part.key), part,
                                 std::filesystem::path(target) / part.key.substr(below.size())));
  }
  return {};
}

Result<std::string> publish_folder(const std::string& source, const Location& folder, std::string_view below,
                                   std::string_view last, std::string_view role, Manifest manifest,
                                   std::uint64_t number) {
  // Objects that a manifest names are never written again.
  HEADRACE_TRY(const std::optional<PublishedFolder> before, read_published(folder, {.number = number}));
  if (before) return same_plan(*before, manifest);
  const Location target = below.empty() ? folder : folder.at(below);
  HEADRACE_TRY(const std::vector<StagedFile> files, upload_folder(source, *folder.store, target.key, last));
  const std::size_t prefix = folder.key.empty() ? 0 : folder.key.size() + 1;
  for (const StagedFile& file : files) {
    manifest.parts.push_back({.key = file.key.substr(prefix),
                              .size_bytes = file.size_bytes,
                              .crc32c = file.crc32c,
                              .role = std::string(role)});
  }
  const std::string text = serialize_manifest(manifest);
  const auto created = create_numbered(*folder.store, folder.at(kManifestPrefix).key, number, as_bytes(text));
  if (created) return sha256_hex(as_bytes(text));
  if (created.error().code != Code::kAlreadyExists) return created.error();
  HEADRACE_TRY(const std::optional<PublishedFolder> other, read_published(folder, {.number = number}));
  if (!other) return created.error();
  HEADRACE_TRY(const std::string digest, same_plan(*other, manifest));
  // Both wrote the same names.
  if (parts_text(other->manifest) == parts_text(manifest)) return digest;
  return published_twice(*other, ", and its files are not the same; start the run over with --overwrite");
}

}  // namespace headrace
