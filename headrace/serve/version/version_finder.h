#pragma once

/// \file The kinds of places that have versions of a model. Part of model_source.h, which has the contract
/// for users.

#include <memory>
#include <string>

#include "headrace/serve/version/wanted_version.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Not thread-safe.
class VersionFinder {
 public:
  virtual ~VersionFinder() = default;
  /// Returns what is wanted now; `before` is what was wanted until now. An error loses no change: the next
  /// call finds it again.
  /// \error kAborted  the place has become something else: look again what it is
  virtual Result<WantedVersions> find(const WantedVersions& before, const CallOptions& call) = 0;
  virtual std::string describe() const = 0;
};

std::unique_ptr<VersionFinder> make_named_model_finder(const Location& model, const VersionPolicy& policy);
/// `exported` is the folder that publishes the export; `place` is the run, or the same folder.
std::unique_ptr<VersionFinder> make_export_finder(const Location& place, const Location& exported,
                                                  const VersionPolicy& policy);
std::unique_ptr<VersionFinder> make_saved_model_finder(const Location& folder, const VersionPolicy& policy);
/// `has_others`: objects below _headrace/ are there, and it is no named model.
std::unique_ptr<VersionFinder> make_numbered_folder_finder(const Location& folder,
                                                           const VersionPolicy& policy, bool has_others);

/// The version that an export is.
/// \error as checked_version
Result<std::shared_ptr<const WantedVersion>> version_of_export(const PublishedFolder& exported,
                                                               std::uint64_t number);

/// Whether an error is about one version, so that others can be served: what it published is damaged, of
/// another kind, or too much. Others, such as a network's, are about the store.
bool is_about_version(const Error& error);

}  // namespace headrace
