#pragma once

/// \file Writes the record of a run of another tracker: docs/formats/run-record.md, "Imported runs".
///
///   HEADRACE_TRY(auto record, ImportedRecord::begin(root, run, options));
///   if (!record) return {};  // it is there
///   HEADRACE_CHECK(record->add_points("loss", steps, times_us, values));
///   return record->finish();

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/artifact/artifact_draft.h"
#include "headrace/metrics/metric_journal.h"
#include "headrace/run_import/imported_run.h"
#include "headrace/store/location.h"

namespace headrace {

struct ImportOptions {
  std::vector<std::string> command_line{};
  std::map<std::string, std::string> versions{};
  /// When artifacts are logged.
  std::chrono::system_clock::time_point now{};
  CallOptions call{};
};

/// Everything that is written is a function of the run, and is created only if it is absent: an import that
/// was cut short goes on, and two at once write the same. If the source has changed since an import was cut
/// short, the next one writes a part of its own, a later attempt. Movable, not thread-safe. Holds up to
/// kMostSegmentPoints points in memory.
class ImportedRecord {
 public:
  static constexpr std::size_t kMostSegmentPoints = 1 << 20;

  /// Creates the start of the record. None: the run was imported before. One listing.
  static Result<std::optional<ImportedRecord>> begin(const Location& root, ImportedRun run,
                                                     ImportOptions options);

  const std::string& id() const { return id_; }
  /// The end and the final metrics may be set until `finish`.
  ImportedRun& run() { return run_; }

  /// Points of a metric, in the order in which they were logged. The same order of calls is needed each time.
  /// REQUIRES: the three have one size
  /// \error kInvalidArgument     the name is empty, longer than kMetricNameBytes, or no UTF-8
  /// \error kFailedPrecondition  other points are there: the source has changed, but not ImportedRun::state
  Status add_points(std::string_view metric, std::span<const std::int64_t> steps,
                    std::span<const std::int64_t> times_us, std::span<const double> values);
  /// Records that the run has event files. Returns the folder for their copies.
  Result<Location> add_event_files();
  /// An artifact of this run, to be filled with its files.
  Result<ArtifactDraft> draft() const;
  /// Keeps them, if there are any.
  Status add_files(const ArtifactDraft& files);
  /// Writes what is left, and the end. Call it once.
  Status finish();

 private:
  ImportedRecord(const Location& root, ImportedRun run, ImportOptions options);
  Status create(std::string_view object, const std::string& text) const;
  Status add_series(RunSeries series);
  Status write_segment(bool is_end);
  Location folder_below(std::string_view prefix) const;

  Location root_;
  ImportedRun run_;
  ImportOptions options_;
  std::string id_;
  std::string part_;
  RunEnd end_;

  MetricJournalFile held_;                                     // points that are in no segment yet
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // of names in held_
  std::map<std::string, double, std::less<>> last_;
  std::uint64_t segments_ = 0;
  Bytes previous_;  // digest of the segment before
};

}  // namespace headrace
