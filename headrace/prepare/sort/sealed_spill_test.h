#pragma once

/// \file For tests and fuzzers: gives a damaged spill right checksums.

#include <cstdint>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/crc32c.h"
#include "headrace/base/wire.h"

namespace headrace {

/// Recomputes all checksums, as far as trailer and footer still say where they are.
inline void seal_spill(Bytes& spill) {
  constexpr std::size_t kTrailerBytes = 24, kEntryBytes = 16;
  if (spill.size() < kTrailerBytes) return;
  std::byte* const trailer = spill.data() + spill.size() - kTrailerBytes;
  const auto offset = load_little_endian<std::uint64_t>(trailer);
  const auto size = load_little_endian<std::uint64_t>(trailer + 8);
  if (offset > spill.size() - kTrailerBytes || size != spill.size() - kTrailerBytes - offset) return;
  std::vector<std::byte*> entries;  // entries of buckets and of the hashes
  std::size_t position = offset;
  std::uint64_t part_bytes = 0;
  const std::size_t end = offset + size;
  for (bool is_first = true; read_varint(BytesView(spill).first(end), position, part_bytes);
       is_first = false) {
    if (part_bytes > end - position) break;
    const std::size_t count_bytes = part_bytes % kEntryBytes;  // a table has four such bytes
    for (std::size_t at = count_bytes; !is_first && at + kEntryBytes <= part_bytes; at += kEntryBytes)
      entries.push_back(spill.data() + position + at);
    position += part_bytes;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto from = load_little_endian<std::uint64_t>(entries[i]);
    const auto to = i + 1 < entries.size() ? load_little_endian<std::uint64_t>(entries[i + 1]) : offset;
    if (from > to || to > offset) continue;
    store_little_endian(entries[i] + 12, crc32c(BytesView(spill).subspan(from, to - from)));
  }
  store_little_endian(trailer + 16, crc32c(BytesView(spill).subspan(offset, size)));
}

}  // namespace headrace
