#pragma once

/// \file Reads records of runs, in both versions of the format.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/store/location.h"
#include "headrace/store/store.h"
#include "headrace/track/run_record.h"

namespace headrace {

/// Largest object of a record that is read.
inline constexpr std::uint64_t kRunRecordLimitBytes = 16 << 20;

/// Reads the record of a run. Cost: one listing, and two reads for each part that has ended; more for other
/// parts.
/// \error kNotFound  there is no run with that id below `root`; else as for `parse_run_start`
Result<RunRecord> read_run(const Location& root, std::string_view id, const CallOptions& call = {});

/// Reads start and end of one part of a run. Inputs, outputs and series that were recorded before an end are
/// left out. Cost: two reads.
/// \error as for `read_run`
Result<RunPart> read_part(const Location& root, std::string_view run, std::string_view part,
                          const CallOptions& call = {});

/// Whether an error of these functions means that one record is damaged or missing, so that others can still
/// be read.
bool is_damaged_record(Code code);

/// Whether an error of reading one run concerns that run alone, so that a table can still show the others.
/// False for a stop, a deadline and an unreachable store, which would affect every run.
bool concerns_one_record(Code code);

struct RunList {
  std::vector<RunRecord> runs;  // oldest first
  /// One message for each record that could not be read. Damage in one record hides no other.
  std::vector<std::string> damaged;
};

/// A part of a run, with its objects as a listing shows them.
struct ListedPart {
  std::string run;
  std::string part;  // empty: a run of version 1, whose objects are not listed
  /// The `key` of each object is its name within the part: "start", "inputs/data".
  std::vector<ObjectInfo> objects{};

  bool has(std::string_view name) const;
};
/// The parts of all runs below `root`, first the runs of version 1. The parts of one run follow each other.
/// Cost: two listings.
Result<std::vector<ListedPart>> list_run_parts(const Location& root, const CallOptions& call = {});

/// The parts of the `limit` runs that started last.
std::vector<ListedPart> newest_runs(std::vector<ListedPart> parts, std::size_t limit);

/// Reads these parts and joins them to runs. Reads `threads` parts at a time.
/// \error of the store; an error that concerns one record (`concerns_one_record`) becomes a message instead
Result<RunList> read_listed_runs(const Location& root, const std::vector<ListedPart>& parts, int threads,
                                 const CallOptions& call = {});

/// Reads the newest `limit` runs below `root`, eight parts at a time. Cost: two listings, and the records.
Result<RunList> list_runs(const Location& root, std::size_t limit, const CallOptions& call = {});

/// Reads the run with that id or, if there is none, all runs whose ids begin with it, oldest first. Empty if
/// `id` can begin no id. Does not list or read other runs. Cost: two listings, and the records.
Result<RunList> find_runs(const Location& root, std::string_view id, const CallOptions& call = {});

/// As list_runs, but only for runs of version 1, which have no catalog. Cost: one listing if there are none.
Result<RunList> list_version_1_runs(const Location& root, std::size_t limit, const CallOptions& call = {});

/// Reads the runs of version 2 with these ids. An id without a run is ignored. Cost: a listing for each id,
/// and the records.
Result<RunList> read_runs(const Location& root, const std::vector<std::string>& ids,
                          const CallOptions& call = {});

}  // namespace headrace
