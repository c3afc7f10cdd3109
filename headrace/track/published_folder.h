#pragma once

/// \file Folders that TensorFlow reads and writes and that a manifest publishes: traces, checkpoints,
/// exports.

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

/// Reads a manifest of a folder; none if it is not there. The latest manifest is the one that the folder's
/// chain names.
/// \error kDataLoss         it is damaged
/// \error kInvalidArgument  the number is that of an entry of ownership
Result<std::optional<PublishedFolder>> read_published(const Location& folder,
                                                      const ManifestChoice& choice = {});
/// As above, for manifests of one kind.
/// \error kInvalidArgument  it is of another kind
Result<std::optional<PublishedFolder>> read_published(const Location& folder, std::string_view kind,
                                                      const ManifestChoice& choice = {});

/// Reads the manifest with this number; none if the number is free, or that of an entry of ownership.
/// \error kDataLoss  it is damaged
Result<std::optional<PublishedFolder>> find_manifest(const Location& folder, std::uint64_t number,
                                                     const CallOptions& call = {});

/// Opens the version of a folder that `choice` names. Without a number: the latest version, or none if
/// nothing is published.
/// \error kNotFound, kInvalidArgument  as read_version
Result<std::optional<PublishedFolder>> open_version(const Location& folder, const ManifestChoice& choice);

/// Downloads the files of a published folder to the local folder `target`, and checks the size and checksum
/// of every part. Only parts whose keys begin with `below` are copied; their names lose that prefix.
/// \error kDataLoss           a part is missing or altered
/// \error kAborted            the folder was overwritten or removed meanwhile
/// \error kResourceExhausted  the files have more than 16 GiB, or the disk is full
Status download_published(const PublishedFolder& published, std::string_view below,
                          const std::string& target);

/// The folder in which the part called `name` lies, for example "o2/"; "" if the part lies in no folder, or
/// does not exist. Every owner after the first one publishes its files in a folder of its own.
std::string folder_of_part(const Manifest& manifest, std::string_view name);

/// Uploads the files of the local folder `source` to `below` in the folder that `ownership` belongs to, the
/// file `last` after all others. Then publishes them, with the role `role`. Replaces nothing: `below` belongs
/// to this owner alone. The caller sets `manifest`'s kind, created_by, plan and attributes.
/// \error kAlreadyExists  one of the files is there
/// \error kAborted        another process owns the folder now
Result<Published> publish_folder(const std::string& source, Ownership& ownership, std::string_view below,
                                 std::string_view last, std::string_view role, Manifest manifest);

}  // namespace headrace
