#pragma once

/// \file Finds the partition of a key, as Ignite's rendezvous affinity does. The partition is a function of
/// the key's Java hash and the number of partitions.

#include <cstdint>
#include <optional>

#include "headrace/base/bytes.h"

namespace headrace::ignite {

/// Java's hash of an encoded key. It is known for numbers, booleans, characters, strings, UUIDs, byte arrays,
/// and complex objects, which contain their hash. None for any other object, and for bytes that are not an
/// object. A request for such a key may go to any node, which forwards it.
std::optional<std::int32_t> key_hash(BytesView key);

/// The partition of a key with that hash. REQUIRES: partitions > 0.
std::int32_t partition_of_hash(std::int32_t hash, std::int32_t partitions);

}  // namespace headrace::ignite
