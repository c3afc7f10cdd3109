#pragma once

/// \file A folder of checkpoints that a training loop outside Headrace publishes, such as Keras' `fit`.

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

/// Numbers of the manifests that the folder's current generation has published, ascending.
Result<std::vector<std::uint64_t>> published_numbers(const Location& folder, const CallOptions& call = {});

/// The right of one process to publish checkpoints in a folder. Not thread-safe. `stop` ends a call early.
class FolderOwner {
 public:
  /// Begins in an empty folder, or takes over the folder. `kind`: of its manifests; `command`: of this
  /// process.
  /// \error kInvalidArgument     manifests of another kind are published there
  /// \error kFailedPrecondition  a stage of Headrace began something else there
  /// \error kAborted             another process began something there at the same moment
  /// \error kDataLoss            the end of the chain is damaged
  static Result<FolderOwner> take(const Location& folder, std::string_view kind, std::string_view command,
                                  std::chrono::system_clock::time_point now,
                                  const std::stop_token& stop = {});
  /// Shares the ownership that another process has taken. `published`: number of the manifest to continue
  /// from; 0: none. `suffix`: of that owner.
  FolderOwner(const Ownership& ownership, std::uint64_t published, std::string suffix)
      : ownership_(ownership), published_(published), suffix_(std::move(suffix)) {}

  /// Suffix in the names of this owner's files.
  const std::string& suffix() const { return suffix_; }

  /// The latest checkpoint of this training; none if there is nothing to continue.
  Result<std::optional<PublishedFolder>> published(std::string_view kind,
                                                   const std::stop_token& stop = {}) const;

  /// Publishes the files of the local folder `source` and returns the number of the manifest. The caller sets
  /// `manifest`'s kind, plan and attributes.
  /// \error kAborted  another process owns the folder now
  Result<std::uint64_t> publish(const std::string& source, std::string_view role, Manifest manifest,
                                const std::stop_token& stop = {});

  /// Numbers of the manifests that this training has published, ascending.
  Result<std::vector<std::uint64_t>> numbers(const std::stop_token& stop = {}) const;

  /// Removes a checkpoint that is not the latest. Removes its manifest first, so that no manifest names a
  /// missing part. Does nothing if the checkpoint is gone already.
  /// \error kInvalidArgument  it is the latest checkpoint, or belongs to another training
  Status unpublish(std::string_view kind, std::uint64_t number, const std::stop_token& stop = {}) const;

 private:
  Ownership ownership_;
  std::uint64_t published_ = 0;  // number of the generation's latest manifest; 0: none
  std::string suffix_;
};

}  // namespace headrace
