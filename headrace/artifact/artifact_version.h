#pragma once

/// \file A version of an artifact, as bytes: docs/formats/artifacts.md, "Version".

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/json.h"
#include "headrace/base/result.h"

namespace headrace {

struct ArtifactVersion {
  std::string name;
  std::uint64_t number = 0;
  std::string type;  // the same in all versions: "dataset", "model"
  std::string description{};
  Json metadata = Json::object();
  std::string entries{};  // SHA-256 of the list
  std::uint64_t count = 0;
  std::uint64_t size_bytes = 0;        // of all entries
  std::vector<std::string> sources{};  // URLs that were added by reference
  std::string run{};                   // id of the run that logged it
  std::string created{};               // "2026-11-21T03:26:00.125Z"
  /// SHA-256 of the object: of what was read or written.
  std::string digest{};
};

inline constexpr std::uint64_t kArtifactVersionLimitBytes = 1 << 20;

/// The object's bytes: canonical JSON with its checksum. Secrets are taken out of every text; a draft
/// refuses those in metadata.
std::string serialize_artifact_version(const ArtifactVersion& version);

/// \error kDataLoss       not as the format says, or a wrong checksum
/// \error kUnimplemented  a newer version of the format than this reader knows
Result<ArtifactVersion> parse_artifact_version(BytesView data);

}  // namespace headrace
