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
  /// Label features → splits → values that occur → rows that are kept.
  std::map<std::string, std::map<std::string, LabelCounts>> label_values;
  std::vector<KeptSpill> spills;
  std::optional<ManifestPart> inputs;  // none if no row was read
  std::optional<ManifestPart> report;  // none if it has no lines
  /// Rows that are retried: the reason of their earlier rejection → rows.
  std::map<std::string, std::uint64_t> retried;
  /// The message about the first rejected row; empty if none was rejected.
  std::string first_rejection;
};

std::string slice_receipt_to_json(const SliceReceipt& receipt);
/// \error kDataLoss
Result<SliceReceipt> parse_slice_receipt(std::string_view json);

}  // namespace headrace
