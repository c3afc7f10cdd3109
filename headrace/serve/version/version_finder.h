#pragma once

/// \file The kinds of places that hold versions of a model. Part of model_source.h, which has the contract
/// for users.

#include <memory>
#include <string>

#include "headrace/serve/version/wanted_version.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Finds the wanted versions in one kind of place. Not thread-safe.
class VersionFinder {
 public:
  virtual ~VersionFinder() = default;
  /// Returns what is wanted now; `before` is what was wanted until now. After an error, the next call finds
  /// the same changes again.
  /// \error kAborted  the place has become another kind of place: determine its kind again
  virtual Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) = 0;
  virtual std::string describe() const = 0;
};

std::unique_ptr<VersionFinder> make_named_model_finder(const Location& model, const VersionPolicy& policy);
/// `exported` is the folder that publishes the export; `place` is the run, or the same folder.
std::unique_ptr<VersionFinder> make_export_finder(const Location& place, const Location& exported,
                                                  const VersionPolicy& policy);
std::unique_ptr<VersionFinder> make_saved_model_finder(const Location& folder, const VersionPolicy& policy);
/// `has_others`: the folder has objects below _headrace/, although it is not a named model.
std::unique_ptr<VersionFinder> make_numbered_folder_finder(const Location& folder,
                                                           const VersionPolicy& policy, bool has_others);

/// The version with this number whose files are those of an export.
/// \error as checked_version
Result<std::shared_ptr<const WantedVersion>> version_of_export(const PublishedFolder& exported,
                                                               std::uint64_t number);

/// Whether an error is about one version, so that others can be served: what the version published is
/// damaged, of another kind, or too large. Other errors, such as network errors, are about the store.
bool is_about_version(const Error& error);

}  // namespace headrace
