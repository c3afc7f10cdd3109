#pragma once

/// \file Reads records of runs, of both versions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/store/store.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Larger objects of a record are not read.
inline constexpr std::uint64_t kRunRecordLimitBytes = 16 << 20;

/// One listing, and two reads for each part that has ended.
/// \error kNotFound  no run of that id below `root`; else as for `parse_run_start`
Result<RunRecord> read_run(const Location& root, std::string_view id, const CallOptions& call = {});

/// Start and end of one part: two reads. Inputs, outputs and series recorded before an end are left out.
/// \error as for `read_run`
Result<RunPart> read_part(const Location& root, std::string_view run, std::string_view part,
                          const CallOptions& call = {});

/// Whether an error of these functions is about one record, and other records may still be read.
bool is_damaged_record(Code code);

/// Whether an error of reading one run need not keep a table from showing the others: all but a stop, a
/// deadline and a store that cannot be reached, which would meet every run.
bool concerns_one_record(Code code);

struct RunList {
  std::vector<RunRecord> runs;  // oldest first
  /// Why a record could not be read, one message each: damage in one hides no other.
  std::vector<std::string> damaged;
};

/// The objects of a part, as a listing shows them.
struct ListedPart {
  std::string run;
  std::string part;  // empty: of version 1, whose objects are not listed
  /// The `key` of each is its name within the part: "start", "inputs/data".
  std::vector<ObjectInfo> objects{};

  bool has(std::string_view name) const;
};
/// The parts of all runs below `root`, those of version 1 first; parts of a run follow each other. Two
/// listings.
Result<std::vector<ListedPart>> list_run_parts(const Location& root, const CallOptions& call = {});

/// The parts of the `limit` runs that began last.
std::vector<ListedPart> newest_runs(std::vector<ListedPart> parts, std::size_t limit);

/// The runs that these parts make, read `threads` objects at a time.
Result<RunList> read_listed_runs(const Location& root, const std::vector<ListedPart>& parts, int threads,
                                 const CallOptions& call = {});

/// The newest `limit` runs below `root`, read eight objects at a time.
Result<RunList> list_runs(const Location& root, std::size_t limit, const CallOptions& call = {});

/// The run of that id or, if there is none, those whose ids begin so, oldest first. Lists and reads nothing
/// of other runs: two listings, and the records.
Result<RunList> find_runs(const Location& root, std::string_view id, const CallOptions& call = {});

/// The same as list_runs for version 1 alone, which no catalog knows. One listing if there are none.
Result<RunList> list_version_1_runs(const Location& root, std::size_t limit, const CallOptions& call = {});

/// The runs of the given ids.
Result<RunList> read_runs(const Location& root, const std::vector<std::string>& ids,
                          const CallOptions& call = {});

}  // namespace headrace
