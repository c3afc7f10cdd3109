#pragma once

/// \file Derives the shards from the receipts of all slices. Every process that arranges the same slices
/// gets the same result.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/prepare/extract/slice_receipt.h"
#include "headrace/prepare/extract/task_context.h"
#include "headrace/prepare/schema/vocabularies.h"
#include "headrace/prepare/source/rejects.h"

namespace headrace {

struct ArrangedSplit {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of the records, estimated
  std::uint64_t shards = 0;
};

/// The number of shards of a split with this many rows and bytes: docs/formats/plan.md.
std::uint64_t shard_count(const PreparePlan& plan, std::uint64_t rows, std::uint64_t bytes);

/// A row whose content also occurs in a row that is kept: in an earlier row of its split, or in a row of a
/// split that comes before its own (splits_before).
struct DuplicateRow {
  std::uint32_t slice = 0;
  RowPlace place{};
  auto operator<=>(const DuplicateRow&) const = default;
};

/// One shard: the rows of a split with an order from `first_order` to `last_order`.
struct ShardTask {
  std::string split;
  std::uint64_t number = 0;  // its index among the split's shards
  std::uint64_t shards = 0;  // of the split
  std::uint64_t first_order = 0;
  std::uint64_t last_order = 0;
};

struct Arrangement {
  std::vector<ArrangedSplit> splits;  // ascending by name
  Vocabularies vocabularies;
  SliceCounts counts;
  std::uint64_t row_bytes = 0;  // of the kept rows, with the known sizes of their references
  std::map<std::string, std::uint64_t> reasons;
  std::string first_rejection;                   // as in a slice's receipt
  std::vector<KeptSpill> spills;                 // of all slices
  std::vector<std::uint32_t> spill_slices;       // the slice of each spill
  std::vector<ManifestPart> slice_parts;         // inputs and reports, in the work folder
  std::map<std::string, std::uint64_t> retried;  // as in a slice's receipt
  std::vector<DuplicateRow> duplicates;          // ascending

  std::vector<ShardTask> tasks() const;
};

/// If an id occurs in `split` and in one of these splits, the row in the other split is kept. These are the
/// splits with fewer rows, or with as many rows and a smaller name. Empty if no id can occur in two splits.
std::vector<std::string_view> splits_before(const PreparePlan& plan, const Arrangement& arrangement,
                                            std::string_view split);

/// Adds up the receipts of all slices, and derives shards, vocabularies and duplicates. `receipts[i]` is that
/// of slice i. Memory: 40 bytes a row, if the plan looks for duplicates.
/// \error kInvalidArgument     a required split has no rows, a label has only one class, or too many rows are
///                             rejected
/// \error kFailedPrecondition  a one-hot label has a value that the continued dataset does not have
/// \error kDataLoss            a receipt is not as it was written
Result<Arrangement> arrange(const TaskContext& context, std::span<const SliceReceipt> receipts,
                            const RejectLimit& max_rejects);

}  // namespace headrace
