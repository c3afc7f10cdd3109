#pragma once

/// \file The report of a published dataset (docs/formats/plan.md, "Report"): the rows that were rejected,
/// dropped or changed.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/track/published_folder.h"

namespace headrace {

/// Passes each line of all reports, without its end, to `visit`, in the manifest's order. Memory: 9 MiB, and
/// a line of at most 1 MiB.
/// \error kDataLoss  a report is damaged or has a longer line
/// \error as the store or `visit` returns
Status visit_report_lines(const PublishedFolder& published, const CallOptions& call,
                          const std::function<Status(std::string_view)>& visit);

struct ReportedRow {
  std::string id;
  std::string detail;
  std::string source;     // the file's URL; "" if the id says it
  std::uint64_t row = 0;  // 0: not of a table
};

/// Rows that one thing happened to.
struct ReportedRows {
  std::uint64_t count = 0;
  std::vector<ReportedRow> examples;  // the first ones
};

/// By status and reason; not of rows that were simply written. At most 200 reasons, the first ones met.
/// \error as above
Result<std::map<std::pair<std::string, std::string>, ReportedRows>> summarize_reports(
    const PublishedFolder& published, std::size_t examples, const CallOptions& call);

}  // namespace headrace
