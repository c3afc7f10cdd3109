#pragma once

/// \file Reads the report of a published dataset (docs/formats/plan.md, "Report"): the rows that were
/// rejected, dropped or changed.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/track/published_folder.h"

namespace headrace {

/// Passes each line of all reports to `visit`, without its line break, in the order of the manifest. Memory:
/// 9 MiB, and a line of at most 1 MiB.
/// \error kDataLoss  a report is damaged, or has a longer line
/// \error of the store, or as `visit` returns
Status visit_report_lines(const PublishedFolder& published, const CallOptions& call,
                          const std::function<Status(std::string_view)>& visit);

struct ReportedRow {
  std::string id;
  std::string detail;
  std::string source;     // URL of the file; "" if the id says it
  std::uint64_t row = 0;  // 0: not from a table
};

/// Rows that have the same status and reason.
struct ReportedRows {
  std::uint64_t count = 0;
  std::vector<ReportedRow> examples;  // the first ones
};

/// Summarises the reports by status and reason; rows that were simply written are left out. At most 200
/// pairs, the first ones found. Each has at most `examples` examples.
/// \error as visit_report_lines
Result<std::map<std::pair<std::string, std::string>, ReportedRows>> summarize_reports(
    const PublishedFolder& published, std::size_t examples, const CallOptions& call);

}  // namespace headrace
