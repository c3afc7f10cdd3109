#include "headrace/artifact/artifact_version.h"

#include "headrace/artifact/artifact_entry.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

constexpr std::string_view kFormat = "headrace.artifact";
constexpr std::uint64_t kFormatVersion = 1;

Result<ArtifactVersion> version_from_json(const Json& from) {
  ArtifactVersion version{.name = from.get<std::string>("name"),
                          .number = from.get<std::uint64_t>("number"),
                          .type = from.get<std::string>("type"),
                          .description = from.get<std::string>("description"),
                          .metadata = from.at("metadata"),
                          .entries = from.get<std::string>("entries"),
                          .count = from.get<std::uint64_t>("count"),
                          .size_bytes = from.get<std::uint64_t>("size_bytes"),
                          .sources = from.get<std::vector<std::string>>("sources"),
                          .run = from.get<std::string>("run"),
                          .created = from.get<std::string>("created")};
  if (!version.metadata.is_object()) throw JsonError("metadata is not an object");
  if (!is_sha256_hex(version.entries)) throw JsonError("entries is not 64 hexadecimal digits");
  return version;
}

}  // namespace

std::string serialize_artifact_version(const ArtifactVersion& version) {
  Json document = {{"type", version.type},
                   {"description", version.description},
                   {"metadata", version.metadata},
                   {"sources", version.sources}};
  redact_texts(document);
  document["format"] = kFormat;
  document["version"] = kFormatVersion;
  document["name"] = version.name;
  document["number"] = version.number;
  document["entries"] = version.entries;
  document["count"] = version.count;
  document["size_bytes"] = version.size_bytes;
  document["run"] = version.run;
  document["created"] = version.created;
  return seal_json(document.dump() + "\n");
}

Result<ArtifactVersion> parse_artifact_version(BytesView data) {
  const Json document = parse_json(as_text(data)).value_or(Json());
  if (!document.is_object() || document["format"] != kFormat)
    return Error{Code::kDataLoss,
                 "the object is not a version of an artifact; it was overwritten or cut off"};
  const Json& format_version = document["version"];
  if (format_version.is_unsigned() && format_version.as<std::uint64_t>() > kFormatVersion)
    return Error{Code::kUnimplemented,
                 concat("the version of an artifact has the format ", format_version.dump(),
                        "; this Headrace reads up to ", kFormatVersion, ": install a newer one")};
  if (!is_sealed_json(as_text(data)))
    return Error{Code::kDataLoss, "the checksum of the version does not match: it was altered"};
  HEADRACE_TRY(
      ArtifactVersion version,
      read_document(document, "the version is not as docs/formats/artifacts.md says", version_from_json));
  version.digest = sha256_hex(data);
  return version;
}

}  // namespace headrace
