#pragma once

/// \file A folder of checkpoints that a training loop of somebody else's publishes, such as Keras' `fit`.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/coordinate/chain.h"
#include "headrace/track/published_folder.h"

namespace headrace {

/// Numbers of the manifests that the folder's present generation has published, ascending.
Result<std::vector<std::uint64_t>> published_numbers(const Location& folder, const CallOptions& call = {});

/// The right to publish checkpoints in a folder, of one process. Not thread-safe. `stop` ends a call early.
class FolderOwner {
 public:
  /// Begins in an empty folder, or takes over. `kind` is that of its manifests.
  /// \error kInvalidArgument     it publishes something of another kind
  /// \error kFailedPrecondition  a stage of Headrace began something else there
  /// \error kAborted             somebody else began something there at the same moment
  /// \error kDataLoss            the end of the chain is damaged
  static Result<FolderOwner> take(const Location& folder, std::string_view kind, std::string_view command,
                                  std::chrono::system_clock::time_point now,
                                  const std::stop_token& stop = {});
  /// Shares what another process has taken: `published` is the number of the manifest to continue from; 0:
  /// none.
  FolderOwner(const Ownership& ownership, std::uint64_t published, std::string suffix)
      : ownership_(ownership), published_(published), suffix_(std::move(suffix)) {}

  /// The ending of the names of this owner's files.
  const std::string& suffix() const { return suffix_; }

  /// The latest checkpoint of this training; none if there is nothing that it continues.
  Result<std::optional<PublishedFolder>> published(std::string_view kind,
                                                   const std::stop_token& stop = {}) const;

  /// Publishes the files of the local folder `source`, and returns the manifest's number. `manifest` needs
  /// kind, plan and attributes.
  /// \error kAborted  somebody else owns the folder now
  Result<std::uint64_t> publish(const std::string& source, std::string_view role, Manifest manifest,
                                const std::stop_token& stop = {});

  /// Numbers of the manifests that this training has published, ascending.
  Result<std::vector<std::uint64_t>> numbers(const std::stop_token& stop = {}) const;

  /// Removes a checkpoint that is not the latest: first the manifest, so that nothing names a part that is
  /// gone.
  /// \error kInvalidArgument  it is the latest, or of another training
  Status unpublish(std::string_view kind, std::uint64_t number, const std::stop_token& stop = {}) const;

 private:
  Ownership ownership_;
  std::uint64_t published_ = 0;  // number of the latest manifest of the generation
  std::string suffix_;
};

}  // namespace headrace
