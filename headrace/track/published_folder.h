#pragma once

/// \file Folders that TensorFlow reads and writes, published by a manifest: traces, checkpoints, exports.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/coordinate/chain.h"
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

/// A manifest of a folder; none if it is not there. The latest is the one that the folder's chain names.
/// \error kDataLoss         it is damaged
/// \error kInvalidArgument  the number is that of an entry of ownership
Result<std::optional<PublishedFolder>> read_published(const Location& folder,
                                                      const ManifestChoice& choice = {});
/// The same, of one kind.
/// \error kInvalidArgument  it is of another kind
Result<std::optional<PublishedFolder>> read_published(const Location& folder, std::string_view kind,
                                                      const ManifestChoice& choice = {});

/// The manifest with this number; none if the number is free, or that of an entry of ownership.
/// \error kDataLoss  it is damaged
Result<std::optional<PublishedFolder>> find_manifest(const Location& folder, std::uint64_t number,
                                                     const CallOptions& call = {});

/// The version of a folder that `choice` names; without a number the latest one, or none if nothing is
/// published.
/// \error kNotFound, kInvalidArgument  as read_version
Result<std::optional<PublishedFolder>> open_version(const Location& folder, const ManifestChoice& choice);

/// Copies the local files of one published folder in, checking size and checksum of every part. `below`
/// selects parts whose key begins with it, and is cut off.
/// \error kDataLoss  a part is missing or altered
/// \error kAborted   the folder was overwritten or removed meanwhile
Status download_published(const PublishedFolder& published, std::string_view below,
                          const std::string& target);

/// "o2/" if the part called `name` lies in the folder "o2" of what is published; "" if it lies in no folder,
/// or if there is no such part. Owners after the first publish their files in a folder of their own.
std::string folder_of_part(const Manifest& manifest, std::string_view name);

/// Uploads a local folder to `below` in the folder that `ownership` is of, `last` after the rest, then
/// publishes those files. Nothing is ever replaced: `below` belongs to this owner alone. `manifest` needs
/// kind, created_by, plan and attributes.
/// \error kAlreadyExists  one of the files is there
/// \error kAborted        somebody else owns the folder now
Result<Published> publish_folder(const std::string& source, Ownership& ownership, std::string_view below,
                                 std::string_view last, std::string_view role, Manifest manifest);

}  // namespace headrace
