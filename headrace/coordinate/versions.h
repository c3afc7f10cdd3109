#pragma once

/// \file Versions of what a folder publishes: the manifests in its chain, by their numbers. `prepare
/// --append` keeps former ones, so they can still be opened.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/store/location.h"
#include "headrace/store/numbered.h"

namespace headrace {

/// The manifest with this number.
/// \error kNotFound         it is not there: lists those that are
/// \error kInvalidArgument  the number is that of an entry of ownership: lists the manifests
Result<NumberedObject> read_version(const Location& folder, std::uint64_t number,
                                    const CallOptions& call = {});

/// Number of the manifest with this digest; none if it is not there. Cost: a list, and a read of each object
/// of the chain, the last one first, until it is found.
Result<std::optional<std::uint64_t>> version_of_digest(const Location& folder, std::string_view digest,
                                                       const CallOptions& call = {});

}  // namespace headrace
