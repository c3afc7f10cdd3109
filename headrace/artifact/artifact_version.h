#pragma once

/// \file A version of an artifact as bytes. docs/formats/artifacts.md, "Version".

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
  std::string entries{};  // SHA-256 of the list of entries
  std::uint64_t count = 0;
  std::uint64_t size_bytes = 0;        // of all entries
  std::vector<std::string> sources{};  // URLs that were added by reference
  std::string run{};                   // id of the run that logged it
  std::string created{};               // "2026-11-21T03:26:00.125Z"
  /// SHA-256 of the object that was read or written. Not part of the object.
  std::string digest{};
};

inline constexpr std::uint64_t kArtifactVersionLimitBytes = 1 << 20;

/// The object's bytes: canonical JSON with its checksum. Secrets in texts are replaced; a draft refuses
/// metadata with secrets.
std::string serialize_artifact_version(const ArtifactVersion& version);

/// Parses the object's bytes.
/// \error kDataLoss       it does not follow the format, or its checksum is wrong
/// \error kUnimplemented  its version is newer than this reader knows
Result<ArtifactVersion> parse_artifact_version(BytesView data);

}  // namespace headrace
