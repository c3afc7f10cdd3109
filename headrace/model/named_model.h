#pragma once

/// \file Named models: a name, its versions, and aliases that point to versions. Format:
/// docs/formats/run-layout.md, "Named models".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Checks the name of a model: 1 to 128 characters of [A-Za-z0-9._-], the first a letter or digit.
/// \error kInvalidArgument  it is not such a name
Status check_model_name(std::string_view name);

/// The folder models/`name` below a tracking root. REQUIRES: check_model_name(name)
Location named_model_folder(const Location& root, std::string_view name);

/// The folder of one version of the model in `model`.
Location version_folder(const Location& model, std::uint64_t version);

/// Takes the next version number of the model for this export. If the export already has a number, returns
/// that one. A number is taken once and never given back. Cost: one read for each version.
/// \error kAborted  too many other processes take numbers at the same time
Result<std::uint64_t> take_version(const Location& model, std::string_view export_url,
                                   std::string_view export_digest);

/// The numbers that were taken, ascending. The folder of a taken number may not be published yet.
/// Cost: one listing.
Result<std::vector<std::uint64_t>> taken_versions(const Location& model, const CallOptions& call = {});

/// The export that a version is a copy of.
struct VersionSource {
  std::string export_url;
  std::string export_digest;  // SHA-256 (hex) of its manifest
};
/// Reads which export a version is a copy of. Cost: one read.
/// \error kNotFound  the number is not taken
/// \error kDataLoss  the entry is damaged
Result<VersionSource> read_version_source(const Location& model, std::uint64_t version,
                                          const CallOptions& call = {});

/// The names of the models below a tracking root, ascending. Cost: one listing of one level.
Result<std::vector<std::string>> list_named_models(const Location& root, const CallOptions& call = {});

/// The alias that each publication advances.
inline constexpr std::string_view kLatestAlias = "latest";

/// The aliases of a named model, as one process follows them. Not thread-safe.
class Aliases {
 public:
  /// Makes no request to the store.
  explicit Aliases(Location model) : model_(std::move(model)) {}

  /// Reads new entries of the log. Returns true if an alias has changed since the last successful call.
  /// Does not notice that the model was removed and created again. Cost: without new entries one request,
  /// whatever the length of the log, else two for each new entry. The first call lists the log and reads its
  /// last entry.
  /// \error kDataLoss  an entry is damaged
  Result<bool> refresh(const CallOptions& call = {});

  /// The version of each alias, as of the last `refresh`.
  const std::map<std::string, std::uint64_t, std::less<>>& versions() const { return versions_; }
  /// The version of an alias, as of the last `refresh`; nullopt: there is no such alias.
  std::optional<std::uint64_t> version_of(std::string_view alias) const;

  /// Points an alias to a version: appends an entry after the last one that was read. `by` is the id of the
  /// run that writes it.
  /// \error kAlreadyExists  another process has appended an entry: refresh, and decide again
  Status point(std::string_view alias, std::uint64_t version, std::string_view by);

 private:
  Status read_last(std::uint64_t number, const CallOptions& call);

  Location model_;
  std::optional<std::uint64_t> last_;  // number of the last entry that was read; 0: the log is empty
  std::map<std::string, std::uint64_t, std::less<>> versions_;
  std::map<std::string, std::uint64_t, std::less<>>
      reported_;  // versions_, as it was after the last successful `refresh`
};

/// Checks the name of an alias: as check_model_name, but neither a number nor "latest".
/// \error kInvalidArgument  it is not such a name
Status check_alias(std::string_view alias);

/// Points an alias to this version. A call that stalls does not undo a later change by another process. `by`
/// is the id of the run that writes the entry.
/// \error kInvalidArgument  as check_alias
/// \error kAborted          another process has set this alias since the call began, or too many append at
///                          the same time
Status point_alias(const Location& model, std::string_view alias, std::uint64_t version, std::string_view by);

/// Points the alias "latest" to this version, unless it already names this one or a later one: a slow or
/// repeated publication does not move it back.
/// \error kAborted  too many other processes append at the same time
Status advance_latest(const Location& model, std::uint64_t version, std::string_view by);

}  // namespace headrace
