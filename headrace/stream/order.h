#pragma once

/// \file The order of records: a pure function of seed, epoch and position. docs/formats/order.md defines
/// every bit of it; tests/python/test_order.py is an independent implementation.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/hash.h"

namespace headrace {

/// Derives a key for one purpose from the seed: "Keys" in the format.
HashKey derive_order_key(std::uint64_t seed, std::string_view label, std::uint64_t a, std::uint64_t b);

/// The image of `i` under the keyed permutation of 0 … n−1. Cost: O(1) on average, which is less than four
/// walks for any n.
/// REQUIRES: i < n < 2^57
std::uint64_t permute(const HashKey& key, std::uint64_t n, std::uint64_t i);

enum class ShuffleMode : std::uint8_t {
  kNone,    // dataset order
  kWindow,  // shuffles blocks, then the records within a window of blocks
  kExact,   // shuffles all records; needs random access
};

/// "none", "window", "exact".
std::string_view shuffle_mode_name(ShuffleMode mode);

/// A run of consecutive records of one shard.
struct OrderBlock {
  std::uint64_t record_count = 0;
  std::uint64_t size_bytes = 0;  // uncompressed, framed
};

inline constexpr std::uint64_t kDefaultWindowBytes = 64 << 20;

/// A record by its block.
struct OrderedRecord {
  std::uint64_t block = 0;   // index in the list of blocks
  std::uint64_t record = 0;  // within the block
  bool operator==(const OrderedRecord&) const = default;
};

/// The order of one epoch. Immutable, hence thread-safe. Construction costs O(blocks). Memory: 24 bytes per
/// block.
class EpochOrder {
 public:
  /// `window_bytes` is the uncompressed size at which a window is full. REQUIRES: no block is empty.
  EpochOrder(std::uint64_t seed, std::uint64_t epoch, std::span<const OrderBlock> blocks, ShuffleMode mode,
             std::uint64_t window_bytes = kDefaultWindowBytes);

  /// A run of positions, and the blocks that must be held at the same time to yield it.
  struct Window {
    std::uint64_t first_position = 0;
    std::uint64_t record_count = 0;
    std::uint64_t size_bytes = 0;
    /// Blocks first_block … first_block + block_count − 1 of `permuted_blocks`.
    std::uint64_t first_block = 0;
    std::uint64_t block_count = 0;
  };

  std::uint64_t record_count() const { return record_count_; }
  const std::vector<Window>& windows() const { return windows_; }
  /// The original indexes of the blocks, in the order of the windows.
  const std::vector<std::uint64_t>& permuted_blocks() const { return permuted_blocks_; }

  /// The window that holds a position. O(log windows). REQUIRES: position < record_count()
  std::uint64_t window_at(std::uint64_t position) const;

  /// Together, these do the work of `at` for many positions of a window. `window_key` is the key of the
  /// window's permutation. `record_in_window` is the record at position `first_position + i`, numbered
  /// through the window's blocks in their permuted order. REQUIRES: the mode is not kExact.
  HashKey window_key(std::uint64_t window) const;
  std::uint64_t record_in_window(const HashKey& key, std::uint64_t record_count, std::uint64_t i) const;

  /// The record at a position. O(log windows + log blocks). REQUIRES: position < record_count()
  OrderedRecord at(std::uint64_t position) const;

 private:
  const std::uint64_t seed_;
  const std::uint64_t epoch_;
  const ShuffleMode mode_;
  std::uint64_t record_count_ = 0;
  std::vector<std::uint64_t> permuted_blocks_;
  std::vector<std::uint64_t> first_records_;  // the records before each permuted block in the epoch
  std::vector<Window> windows_;
};

/// The number of batches in an epoch of `record_count` records.
std::uint64_t batches_in_epoch(std::uint64_t record_count, std::uint64_t batch_size, bool drop_remainder);

}  // namespace headrace
