#pragma once

/// \file Named models: a name, its versions, and aliases that point to versions. The objects are described in
/// docs/formats/run-layout.md, "Named models".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// \error kInvalidArgument  not a name of a model: [A-Za-z0-9._-], up to 128, first a letter or digit
Status check_model_name(std::string_view name);

/// The folder models/`name` below a tracking root. REQUIRES: check_model_name(name)
Location named_model_folder(const Location& root, std::string_view name);

/// The folder of one version of the model in `model`.
Location version_folder(const Location& model, std::uint64_t version);

/// Finds the number that this export took before as a version of the model, or takes the next one. A number
/// is taken once and never given back. Cost: a read for each version.
/// \error kAborted  too many others take numbers at the same time
Result<std::uint64_t> take_version(const Location& model, std::string_view export_url,
                                   std::string_view export_digest);

/// The numbers that were taken, ascending. The folder of a number that was taken may not be published yet.
/// Cost: a list.
Result<std::vector<std::uint64_t>> taken_versions(const Location& model, const CallOptions& call = {});

/// The export that a version is a copy of.
struct VersionSource {
  std::string export_url;
  std::string export_digest;  // SHA-256 (hex) of its manifest
};
/// \error kNotFound  the number is not taken; kDataLoss: the entry is damaged
Result<VersionSource> read_version_source(const Location& model, std::uint64_t version,
                                          const CallOptions& call = {});

/// The names of the models below a tracking root, ascending. Cost: a list of one level.
Result<std::vector<std::string>> list_named_models(const Location& root, const CallOptions& call = {});

/// The alias that each publication moves forward.
inline constexpr std::string_view kLatestAlias = "latest";

/// The aliases of a named model, followed by one process. Not thread-safe.
class Aliases {
 public:
  /// Asks nothing of the store yet.
  explicit Aliases(Location model) : model_(std::move(model)) {}

  /// Reads what has come; true if an alias has changed since the last call that succeeded. Cost: one request,
  /// whatever the log's length, if nothing has come; two for each entry that has. The first call lists the
  /// log and reads its last entry. It does not notice that the model was removed and made again.
  /// \error kDataLoss  an entry is damaged
  Result<bool> refresh(const CallOptions& call = {});

  /// The version of each alias, as of the last `refresh`.
  const std::map<std::string, std::uint64_t, std::less<>>& versions() const { return versions_; }
  std::optional<std::uint64_t> version_of(std::string_view alias) const;

  /// Appends an entry after the last that was read. `by` is the id of the run that writes it.
  /// \error kAlreadyExists  somebody else has appended meanwhile: refresh, and decide again
  Status point(std::string_view alias, std::uint64_t version, std::string_view by);

 private:
  Status read_last(std::uint64_t number, const CallOptions& call);

  Location model_;
  std::optional<std::uint64_t> last_;  // number of the last entry that was read; 0: the log is empty
  std::map<std::string, std::uint64_t, std::less<>> versions_;
  std::map<std::string, std::uint64_t, std::less<>>
      told_;  // versions_, as of the last `refresh` that succeeded
};

/// \error kInvalidArgument  not a name of an alias: as of a model, but not a number, and not "latest"
Status check_alias(std::string_view alias);

/// Lets an alias name this version. A call that was stalled meanwhile does not undo what somebody else has
/// set.
/// \error kInvalidArgument  as check_alias
/// \error kAborted          somebody else has set this alias since the call began, or too many append at once
Status point_alias(const Location& model, std::string_view alias, std::uint64_t version, std::string_view by);

/// Lets the alias "latest" name this version, unless it names a later one: a publisher that is slow, or that
/// repeats what it has done, does not move it back.
/// \error kAborted  too many others append at the same time
Status advance_latest(const Location& model, std::uint64_t version, std::string_view by);

}  // namespace headrace
