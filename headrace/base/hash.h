#pragma once

/// \file Keyed 64-bit hash: SipHash-2-4 (Aumasson and Bernstein, 2012). Splits, sample order and bag-of-words
/// features depend on its results, so the results are part of our formats and never change.

#include <cstdint>

#include "headrace/base/bytes.h"

namespace headrace {

struct HashKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// SipHash-2-4 of `data` under `key`.
std::uint64_t siphash(const HashKey& key, BytesView data);
/// The same result, twice as fast for a short text. REQUIRES: eight zero bytes follow `data`.
std::uint64_t siphash_padded(const HashKey& key, BytesView data);
/// SipHash-2-4 of the eight little-endian bytes of `value` under `key`.
std::uint64_t siphash(const HashKey& key, std::uint64_t value);

}  // namespace headrace
