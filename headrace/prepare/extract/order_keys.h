#pragma once

/// \file Where a row belongs: split, order and sample are SipHash-2-4 of its id, or group, under the seed and
/// one of these. docs/prepare.md, "Splits, order, samples". Part of the format: they never change.

#include <cstdint>
#include <string_view>

#include "headrace/base/hash.h"

namespace headrace {

enum class OrderKey : std::uint64_t {
  kOrder = 0x6f72646572206964,
  kTie = 0x7469656272656b72,
  kSplit = 0x73706c6974206f66,
  kSample = 0x73616d706c656f66,
};

inline std::uint64_t keyed_hash(std::uint64_t seed, OrderKey key, std::string_view text) {
  return siphash({seed, static_cast<std::uint64_t>(key)}, as_bytes(text));
}

/// `share` of all hashes, from 0 to 1, as the first hash that is no longer below it. 1 is none: every hash is
/// below. Exact for shares that are doubles.
inline std::uint64_t hash_bound(double share) {
  constexpr double kHashes = 18446744073709551616.0;  // 2^64
  return share >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * kHashes);
}

}  // namespace headrace
