#pragma once

/// \file Puts a part that was made again to its place in a published dataset.

#include <cstdint>
#include <stop_token>

#include "headrace/track/published_folder.h"

namespace headrace {

/// Success if a part that was made has the size and the checksum that the manifest names.
/// \error kFailedPrecondition  it has others: says which
Status check_part(const ManifestPart& part, std::uint64_t size_bytes, std::uint32_t crc32c);

/// Creates `part` of `version` with the bytes of `made`, or replaces what is damaged there. Nothing is
/// written unless `made` has the size and checksum that the part has.
/// \error kFailedPrecondition  `made` has other bytes
/// \error kAborted             the version was overwritten or removed meanwhile; then the part is removed
///     again
Status put_part(const Location& made, const ManifestPart& part, const PublishedFolder& version,
                const std::stop_token& stop);

}  // namespace headrace
