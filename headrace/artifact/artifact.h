#pragma once

/// \file Named artifacts below a tracking root: their versions, aliases and entries.
/// docs/formats/artifacts.md. `root` is the tracking root in all functions.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/artifact/artifact_draft.h"
#include "headrace/artifact/artifact_entry.h"
#include "headrace/artifact/artifact_version.h"
#include "headrace/store/location.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// The folder of an artifact. Its URL stands for the artifact in records. REQUIRES: check_run_name(name)
Location artifact_folder(const Location& root, std::string_view name);

/// The kind that records of runs give to artifacts.
inline constexpr std::string_view kArtifactKind = "artifact";

/// The description of a version in records of runs.
Artifact recorded_artifact(const Location& root, const ArtifactVersion& version);

/// Keeps the contents of a draft and creates the next version. If the latest version has the same entries,
/// type, description and metadata, returns that one instead. `run`: id of the run that logs it. May be
/// repeated at any time, and called by several processes: docs/formats/artifacts.md, "Who writes what, and
/// two at once".
/// \error kFailedPrecondition  the artifact has another type, the draft has no entries, or a file has changed
///                             since it was added
/// \error kInvalidArgument     description, metadata and sources are larger than 1 MiB
/// \error kAborted             too many others log it at the same time
Result<ArtifactVersion> log_artifact(const Location& root, const ArtifactDraft& draft, std::string_view run,
                                     std::chrono::system_clock::time_point now, const CallOptions& call = {});

/// Names of the artifacts, ascending. Cost: a listing of one level.
Result<std::vector<std::string>> list_artifacts(const Location& root, const CallOptions& call = {});

/// Numbers of the versions of an artifact, ascending; empty if there is no such artifact. Cost: a listing.
/// \error kInvalidArgument  the name cannot be that of an artifact
Result<std::vector<std::uint64_t>> artifact_numbers(const Location& root, std::string_view name,
                                                    const CallOptions& call = {});

/// Reads one version. Cost: one read.
/// \error kNotFound  no such version; kDataLoss  it is damaged, or a copy of another version
Result<ArtifactVersion> read_artifact_version(const Location& root, std::string_view name,
                                              std::uint64_t number, const CallOptions& call = {});

/// A reference to a version: "cats:stable", "cats:v3", or "cats", which means "cats:latest".
struct ArtifactReference {
  std::string name;
  std::string alias;  // "latest" by default
};
/// None if the text is no reference, for example because it has a '/'.
std::optional<ArtifactReference> parse_artifact_reference(std::string_view text);

/// Finds the version that a reference names. Cost: one read; besides, a listing unless the reference has a
/// number, and a read of the log of aliases unless the alias is "latest".
/// \error kInvalidArgument  no reference; kNotFound  no such artifact, version or alias
Result<ArtifactVersion> find_artifact(const Location& root, std::string_view reference,
                                      const CallOptions& call = {});

/// Reads all entries of a version, sorted by path.
/// \error kDataLoss  the list is damaged; kNotFound  it is missing; kResourceExhausted  it is too large
Result<std::vector<ArtifactEntry>> read_entries(const Location& root, const ArtifactVersion& version,
                                                const CallOptions& call = {});

/// The number of the version that each alias names, without "latest".
Result<std::map<std::string, std::uint64_t, std::less<>>> artifact_aliases(const Location& root,
                                                                           std::string_view name,
                                                                           const CallOptions& call = {});

/// Checks the name of a new alias: the rules of aliases of named models hold, and "v" with a number is not
/// allowed.
/// \error kInvalidArgument  it breaks a rule
Status check_artifact_alias(std::string_view alias);

/// Makes an alias name a version. `by`: id of the run that does so. REQUIRES: the version exists
/// \error kInvalidArgument  as check_artifact_alias
/// \error kAborted          another process has set this alias since the call began
Status point_artifact_alias(const Location& root, std::string_view name, std::string_view alias,
                            std::uint64_t number, std::string_view by);

}  // namespace headrace
