#pragma once

/// \file Writes the record of a run that comes from another tracker. docs/formats/run-record.md, "Imported
/// runs".
///
///   HEADRACE_TRY(auto record, ImportedRecord::begin(root, run, options));
///   if (!record) return {};  // the run was imported before
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
  /// Time at which artifacts are logged.
  std::chrono::system_clock::time_point now{};
  CallOptions call{};
};

/// The record of one imported run. All objects depend only on the run, and each is created only if it is
/// absent. So the next import continues one that was cut short, and two imports at once write the same
/// objects. If the source has changed since an import was cut short, the next import writes a part of its
/// own, as a later attempt. Holds up to kMostSegmentPoints points in memory. Movable, not thread-safe.
class ImportedRecord {
 public:
  static constexpr std::size_t kMostSegmentPoints = 1 << 20;

  /// Creates the start of the record. Returns none if the run was imported before. Cost: one listing.
  /// \error kInvalidArgument  params and tags are too large for a record
  static Result<std::optional<ImportedRecord>> begin(const Location& root, ImportedRun run,
                                                     ImportOptions options);

  const std::string& id() const { return id_; }
  /// The run. Its end and its final metrics may be changed until `finish`.
  ImportedRun& run() { return run_; }

  /// Adds points of a metric, in the order in which they were logged. Every import of a run must make the
  /// same calls in the same order.
  /// REQUIRES: the three spans have the same size
  /// \error kInvalidArgument     the name is empty, longer than kMetricNameBytes, or no UTF-8
  /// \error kFailedPrecondition  other points are there: the source has changed, but not ImportedRun::state
  Status add_points(std::string_view metric, std::span<const std::int64_t> steps,
                    std::span<const std::int64_t> times_us, std::span<const double> values);
  /// Records that the run has event files. Returns the folder for their copies.
  Result<Location> add_event_files();
  /// A draft of the artifact with the run's files. Fill it, then call `add_files`.
  Result<ArtifactDraft> draft() const;
  /// Logs the draft as an artifact and records it as an output, unless the draft is empty. \error as
  /// log_artifact
  Status add_files(const ArtifactDraft& files);
  /// Writes the remaining points and the end of the record. Call it once.
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

  MetricJournalFile held_;                                     // points that are not in a segment yet
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // index of each name in held_.names
  std::map<std::string, double, std::less<>> last_;
  std::uint64_t segments_ = 0;
  Bytes previous_;  // SHA-256 of the previous segment
};

}  // namespace headrace
