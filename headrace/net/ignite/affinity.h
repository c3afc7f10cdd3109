#pragma once

/// \file Which partition a key lies in: Ignite's rendezvous affinity, whose first step is a function of the
/// key's Java hash and of the number of partitions alone.

#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"

namespace headrace::ignite {

/// Java's hash of an encoded key: numbers, booleans, characters, strings, UUIDs, byte arrays, and complex
/// objects, which carry theirs. None for any other object, and for bytes that are no object: such a key's
/// request may go to any node, which passes it on.
std::optional<std::int32_t> key_hash(BytesView key);

/// The partition of a key with that hash. REQUIRES: partitions > 0
std::int32_t partition_of_hash(std::int32_t hash, std::int32_t partitions);

}  // namespace headrace::ignite
