#pragma once

/// \file Folders that TensorFlow reads and writes, published by a manifest: traces, checkpoints, exports.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/record/manifest.h"
#include "headrace/store/location.h"
#include "headrace/store/staging.h"

namespace headrace {

struct PublishedFolder {
  Location folder;
  std::uint64_t number = 0;  // of the manifest
  std::string digest;        // SHA-256 (hex) of the manifest
  Manifest manifest;
};

struct ManifestChoice {
  std::optional<std::uint64_t> number{};  // none: the latest
  CallOptions call{};
};

/// A manifest of a folder; none if it is not there.
/// \error kDataLoss  it is damaged
Result<std::optional<PublishedFolder>> read_published(const Location& folder,
                                                      const ManifestChoice& choice = {});
/// The same, of one kind.
/// \error kInvalidArgument  it is of another kind
Result<std::optional<PublishedFolder>> read_published(const Location& folder, std::string_view kind,
                                                      const ManifestChoice& choice = {});

/// Copies the local files of one published folder in, checking size and checksum of every part. `below`
/// selects parts whose key begins with it, and is cut off.
/// \error kDataLoss  a part is missing or altered
Status download_published(const PublishedFolder& published, std::string_view below,
                          const std::string& target);

/// Uploads a local folder to `folder`/`below`, `last` after the rest, then creates manifest `number` over
/// those files. `manifest` needs kind, created_by, plan and attributes. If an equal plan has taken the
/// number, this counts as done, and nothing is uploaded. Returns the digest of the manifest that is there.
/// \error kAborted  another plan took the number, or an equal one whose files are others, at the same time
Result<std::string> publish_folder(const std::string& source, const Location& folder, std::string_view below,
                                   std::string_view last, std::string_view role, Manifest manifest,
                                   std::uint64_t number);

}  // namespace headrace
