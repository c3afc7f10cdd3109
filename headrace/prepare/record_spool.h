#pragma once

/// \file Texts between extraction and shard writing: added in any order, read back in the data set's order.
///
/// Order within a split is by SipHash of the record's id under a key from the seed (ties by a second hash),
/// so it depends on nothing but seed and ids. Texts lie in memory up to a budget; beyond it, segments sorted
/// by that order go to work objects, so that a shard's records are one range of each segment.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/hash_set.h"
#include "headrace/store/registry.h"

namespace headrace {

struct SpooledText {
  std::string id;
  std::string text;
  int label = 0;
};

class RecordSpool {
 public:
  /// `work_folder` is where segments go; `memory_budget_bytes` bounds the texts held.
  RecordSpool(Location work_folder, std::uint64_t seed, int split_count, std::uint64_t memory_budget_bytes);
  ~RecordSpool();

  /// Not thread-safe.
  /// \error kAlreadyExists  the id was added before (nothing is added)
  Status add(int split, int label, std::string_view id, std::string_view text);
  /// Ends adding; needed before the rest.
  Status finish();

  std::uint64_t record_count(int split) const;
  /// Records of the split's order from `first` on: at least one, then as many of `count` as fit into
  /// `limit_bytes`. Thread-safe. Cost: one request for each segment, several at once where the store can.
  /// Memory: twice the limit. REQUIRES: first + count <= record_count(split)
  /// \error kDataLoss  a text came back with other bytes than were written, and again when read again
  Result<std::vector<SpooledText>> read(int split, std::uint64_t first, std::uint64_t count,
                                        std::uint64_t limit_bytes) const;

 private:
  struct Key;
  struct Segment;
  Status seal_segment(bool to_store);
  Result<std::vector<SpooledText>> read_texts(std::span<const Key> wanted) const;

  const Location work_folder_;
  const std::uint64_t seed_;
  const std::uint64_t memory_budget_bytes_;
  std::vector<std::vector<Key>> keys_;  // by split; sorted by `finish`
  std::vector<Key> pending_;            // of the open segment
  HashSet seen_ids_;
  Bytes arena_;  // texts of the open segment
  std::vector<Segment> segments_;
};

}  // namespace headrace
