#pragma once

/// \file Named artifacts below a tracking root: versions, aliases, entries. docs/formats/artifacts.md.

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

/// The folder of an artifact; its URL stands for the artifact in records. REQUIRES: check_run_name(name)
Location artifact_folder(const Location& root, std::string_view name);

/// The kind of artifacts in records of runs.
inline constexpr std::string_view kArtifactKind = "artifact";

/// How records of runs name a version.
Artifact recorded_artifact(const Location& root, const ArtifactVersion& version);

/// Keeps the contents and creates the next version, or takes the latest one if it says the same. `run`: id of
/// the run that logs it. May be repeated at any time, by several processes: "Who writes what" of the format.
/// \error kFailedPrecondition  the artifact has another type; a file has changed since it was added
/// \error kInvalidArgument     description, metadata and sources are larger than 1 MiB
/// \error kAborted             too many others log it at the same time
Result<ArtifactVersion> log_artifact(const Location& root, const ArtifactDraft& draft, std::string_view run,
                                     std::chrono::system_clock::time_point now, const CallOptions& call = {});

/// Names of the artifacts below a tracking root, ascending. Cost: a list of one level.
Result<std::vector<std::string>> list_artifacts(const Location& root, const CallOptions& call = {});

/// Numbers of the versions, ascending; none if there is no such artifact. Cost: a list.
Result<std::vector<std::uint64_t>> artifact_numbers(const Location& root, std::string_view name,
                                                    const CallOptions& call = {});

/// \error kNotFound  no such version; kDataLoss  it is damaged, or belongs to another key
Result<ArtifactVersion> read_artifact_version(const Location& root, std::string_view name,
                                              std::uint64_t number, const CallOptions& call = {});

/// "cats:stable", "cats:v3" and "cats", which is "cats:latest".
struct ArtifactReference {
  std::string name;
  std::string alias;  // "latest" by default
};
/// None if the text is neither: it has a '/', for example.
std::optional<ArtifactReference> parse_artifact_reference(std::string_view text);

/// The version that a reference names.
/// \error kInvalidArgument  no reference; kNotFound  no such artifact, version or alias
Result<ArtifactVersion> find_artifact(const Location& root, std::string_view reference,
                                      const CallOptions& call = {});

/// The entries of a version, sorted by path. Reads the whole list.
/// \error kDataLoss  the list is damaged; kNotFound  it is missing
Result<std::vector<ArtifactEntry>> read_entries(const Location& root, const ArtifactVersion& version,
                                                const CallOptions& call = {});

/// The version of each alias, without "latest".
Result<std::map<std::string, std::uint64_t, std::less<>>> artifact_aliases(const Location& root,
                                                                           std::string_view name,
                                                                           const CallOptions& call = {});

/// \error kInvalidArgument  no name of an alias: as of a named model, and not "v" and a number
Status check_artifact_alias(std::string_view alias);

/// Lets an alias name this version, which exists. `by`: id of the run.
/// \error kInvalidArgument  as check_artifact_alias
/// \error kAborted          somebody else has set this alias since the call began
Status point_artifact_alias(const Location& root, std::string_view name, std::string_view alias,
                            std::uint64_t number, std::string_view by);

}  // namespace headrace
