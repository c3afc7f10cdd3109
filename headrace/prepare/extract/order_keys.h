#pragma once

/// \file The keys that determine where a row belongs. Split, order and sample are SipHash-2-4 of the row's id
/// or group, keyed with the seed and one of these keys. docs/prepare.md, "Splits, order, samples". The keys
/// are part of the format and never change.

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

/// The hashes below the result are `share` of all hashes. Exact for shares that are doubles. For a share of
/// 1, the result is the largest hash; callers then compare no hash, since every hash counts.
inline std::uint64_t hash_bound(double share) {
  constexpr double kHashes = 18446744073709551616.0;  // 2^64
  return share >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * kHashes);
}

}  // namespace headrace
