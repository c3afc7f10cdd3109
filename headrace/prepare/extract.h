#pragma once

/// \file The first kind of task: reads a source once, sorts out what is an example, and spools the texts.

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/prepare/record_spool.h"
#include "headrace/prepare/text_source.h"

namespace headrace {

/// The most that `max_text_bytes` may be: U+FFFD for invalid bytes makes a text three times as large at
/// worst, and readers refuse records of more than 1 GiB.
inline constexpr std::uint64_t kTextLimitBytes = 256 << 20;

struct ExtractOptions {
  std::uint64_t max_text_bytes = 16 << 20;  // larger texts are rejected; at most kTextLimitBytes
  bool drop_duplicates = false;             // equal texts: keep the first of the source; else only report
  std::uint64_t max_rejects = 0;            // more rejected records than this fail the job
};

/// One record that is not simply written.
struct ReportLine {
  std::string id;
  std::string status;  // "rejected", "dropped", "duplicate", "repaired"
  std::string reason;
};

/// in = written + rejected + dropped + ignored, at any time.
struct ExtractCounts {
  std::uint64_t in = 0;
  std::uint64_t written = 0;
  std::uint64_t rejected = 0;
  std::uint64_t dropped = 0;
  std::uint64_t ignored = 0;
  std::uint64_t text_bytes = 0;  // of what is written
  std::map<std::string, std::uint64_t> reasons;
  /// (split, label) → records written.
  std::map<std::pair<int, int>, std::uint64_t> written_by_label;
};

struct Extracted {
  ExtractCounts counts;
  std::vector<ReportLine> report;  // in the source's order; the first 100,000
};

/// Fills and finishes `spool`. `progress` gets the bytes consumed and the total.
/// \error kInvalidArgument  a split or a class without records, or more rejects than allowed; names the first
///                          one
Result<Extracted> extract(TextSource& source, std::string_view source_name, const ExtractOptions& options,
                          RecordSpool& spool,
                          const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                          const std::stop_token& stop);

}  // namespace headrace
