#pragma once

/// \file The versions that a folder has published: the manifests in its chain, by number. `prepare --append`
/// keeps earlier manifests, so they can still be opened.

#include <cstdint>
#include <optional>
#include <string_view>

#include "headrace/store/location.h"
#include "headrace/store/numbered.h"

namespace headrace {

/// Reads the manifest with this number. Cost: one read; an error costs a read of the whole chain.
/// \error kNotFound         there is no such manifest; the message lists those that exist
/// \error kInvalidArgument  the number is that of an ownership entry; the message lists the manifests
Result<NumberedObject> read_version(const Location& folder, std::uint64_t number,
                                    const CallOptions& call = {});

/// Number of the manifest with this digest (SHA-256, hex); nullopt: it is not there. Cost: one listing, and a
/// read of each object of the chain, the last one first, until the manifest is found.
Result<std::optional<std::uint64_t>> version_of_digest(const Location& folder, std::string_view digest,
                                                       const CallOptions& call = {});

}  // namespace headrace
