#pragma once

/// \file Puts a part that was made again into its place in a published dataset.

#include <cstdint>
#include <stop_token>

#include "headrace/track/published_folder.h"

namespace headrace {

/// Checks that a part that was made again has the size and the checksum that the manifest names.
/// \error kFailedPrecondition  it has not; says which it has
Status check_part(const ManifestPart& part, std::uint64_t size_bytes, std::uint32_t crc32c);

/// Creates `part` of `version` with the bytes of `made`, or replaces a damaged part. Writes nothing unless
/// `made` has the size and checksum of the part, and does nothing if the part is intact.
/// \error kFailedPrecondition  `made` is missing, or has other bytes
/// \error kAborted             the version was overwritten or removed meanwhile; the part was removed again
Status put_part(const Location& made, const ManifestPart& part, const PublishedFolder& version,
                const std::stop_token& stop);

}  // namespace headrace
