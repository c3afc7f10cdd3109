#pragma once

/// \file The result of reading a slice: docs/formats/plan.md, "Work".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/prepare/sort/kept_spill.h"
#include "headrace/record/manifest.h"
#include "headrace/track/created_once.h"

namespace headrace {

/// in = kept + rejected + ignored.
struct SliceCounts {
  std::uint64_t in = 0;
  std::uint64_t kept = 0;
  std::uint64_t rejected = 0;
  std::uint64_t ignored = 0;
};

struct SplitTotals {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;             // of ids and cells
  std::uint64_t referenced_bytes = 0;  // as far as known
};

/// Value → rows.
using LabelCounts = std::map<std::string, std::uint64_t>;

struct SliceReceipt {
  SliceCounts counts;
  std::map<std::string, std::uint64_t> reasons;
  std::map<std::string, SplitTotals> splits;
  /// Label feature → split → value that occurs → number of kept rows.
  std::map<std::string, std::map<std::string, LabelCounts>> label_values;
  std::vector<KeptSpill> spills;
  std::optional<ManifestPart> inputs;  // nullopt if no row was read
  std::optional<ManifestPart> report;  // nullopt if it has no lines
  /// For rows that are retried: reason of the earlier rejection → number of rows.
  std::map<std::string, std::uint64_t> retried;
  /// The message about the first rejected row; empty if no row was rejected.
  std::string first_rejection;
};

/// The size limit for receipts of slices and of shards. A receipt counts every value of every label.
inline constexpr SizeLimit kReceiptLimit{
    .bytes = std::uint64_t{1} << 30,
    .what_to_do =
        "give a feature with so many values the type string instead of label, or make smaller "
        "slices and shards"};

std::string slice_receipt_to_json(const SliceReceipt& receipt);
/// \error kDataLoss  the text is not a receipt
Result<SliceReceipt> parse_slice_receipt(std::string_view json);

}  // namespace headrace
