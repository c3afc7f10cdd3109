#pragma once

/// \file Between reading and writing: what follows from all slices together. Everybody who arranges the same
/// slices comes to the same.

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
  std::uint64_t bytes = 0;  // of the records, about
  std::uint64_t shards = 0;
};

/// How many shards a split of so many rows and bytes has: docs/formats/plan.md.
std::uint64_t shard_count(const PreparePlan& plan, std::uint64_t rows, std::uint64_t bytes);

/// A row whose content another one before it has, or one of another split whose rows stay where both have the
/// same id.
struct DuplicateRow {
  std::uint32_t slice = 0;
  RowPlace place{};
  auto operator<=>(const DuplicateRow&) const = default;
};

/// One shard: rows of a split whose order lies from `first` to `last`.
struct ShardTask {
  std::string split;
  std::uint64_t number = 0;  // among the split's shards
  std::uint64_t shards = 0;  // of the split
  std::uint64_t first_order = 0;
  std::uint64_t last_order = 0;
};

struct Arrangement {
  std::vector<ArrangedSplit> splits;  // ascending by name
  Vocabularies vocabularies;
  SliceCounts counts;
  std::uint64_t row_bytes = 0;  // of the rows that are kept, and what they refer to as far as known
  std::map<std::string, std::uint64_t> reasons;
  std::string first_rejection;                   // as of a slice's receipt
  std::vector<KeptSpill> spills;                 // of all slices
  std::vector<std::uint32_t> spill_slices;       // the slice of each
  std::vector<ManifestPart> slice_parts;         // inputs and reports, in the work folder
  std::map<std::string, std::uint64_t> retried;  // as of a slice's receipt
  std::vector<DuplicateRow> duplicates;          // ascending

  std::vector<ShardTask> tasks() const;
};

/// The splits whose rows stay where one of `split` has the same id: those with fewer rows, or as many and a
/// name before. None if the plan gives rows of one id the same split.
std::vector<std::string_view> splits_before(const PreparePlan& plan, const Arrangement& arrangement,
                                            std::string_view split);

/// Memory: 32 bytes a row, if duplicates are looked for.
/// \error kInvalidArgument  no rows for a split that there must be; one class alone; too many rejects
/// \error kDataLoss         a receipt is not what was written
Result<Arrangement> arrange(const TaskContext& context, std::span<const SliceReceipt> receipts,
                            const RejectLimit& max_rejects);

}  // namespace headrace
