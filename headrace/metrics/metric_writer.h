#pragma once

/// \file Logs the metrics of a run into a store, without making the caller wait for the store.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/metrics/metric_journal.h"
#include "headrace/os/background.h"
#include "headrace/store/location.h"

namespace headrace {

struct MetricWriterOptions {
  /// Local folder for the journal; it must not exist yet. The folder's name is the name of the part.
  std::string journal_folder{};
  /// From this step on, points of earlier attempts are superseded. None: this attempt supersedes nothing.
  std::optional<std::int64_t> from_step{};
  /// Longest time until a logged point survives a kill of this process.
  std::chrono::milliseconds journal_interval{500};
  /// The journal is written only by `flush`, `publish` and `close`. An error of `flush` then concerns only
  /// points logged since the previous call.
  bool is_flushed_by_caller = false;
  /// Longest time until the upload of a point begins, and the delay before a retry after a failure.
  std::chrono::milliseconds segment_interval{10'000};
  /// Most bytes of the journal while the store cannot be reached.
  std::uint64_t most_journal_bytes = std::uint64_t{1} << 30;
  /// Most points held in memory until they are in the journal.
  std::size_t most_held_points = 1 << 21;
  /// Options of each request to the store.
  CallOptions call{};
  /// Clocks, which tests replace: the first one gives points their times, the second one tells when work is
  /// due.
  std::function<std::chrono::system_clock::time_point()> wall_clock = Environment{}.now;
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Logs points first into a local journal and then, in the background, into segments in the store.
/// Thread-safe. `background` must outlive the writer, and should have two threads, so that the journal does
/// not wait for the store.
class MetricWriter : public std::enable_shared_from_this<MetricWriter> {
 public:
  /// A segment of this size is written at once, before its time.
  static constexpr std::uint64_t kMostSegmentBytes = 8 << 20;

  /// Creates the journal; writes nothing into the store yet. `log` is the folder of the segments.
  /// \error as MetricJournal::create
  static Result<std::shared_ptr<MetricWriter>> open(Location log, MetricWriterOptions options,
                                                    Background& background);
  /// Writes points from memory into the journal, unless the writer was closed. Points that are not yet in the
  /// store stay in the journal, for `recover_metrics`.
  ~MetricWriter();

  /// The number of the metric with this name. The same name always gets the same number.
  /// \error kInvalidArgument  the name is empty, longer than kMetricNameBytes, or no UTF-8
  Result<std::uint32_t> metric(std::string_view name);

  /// Logs a point with the current time. Takes a fraction of a microsecond and never waits for a disk or the
  /// store. Points beyond `most_held_points`, and points after `close`, are dropped and counted.
  /// REQUIRES: `metric` came from metric()
  void log(std::uint32_t metric, std::int64_t step, double value);
  /// Logs the values of several metrics at one step and time, which are stored once for all of them.
  struct Value {
    std::uint32_t metric = 0;
    double value = 0;
  };
  void log(std::span<const Value> values, std::int64_t step);
  /// The same, with the caller's time, in microseconds since 1970.
  void log(std::span<const Value> values, std::int64_t step, std::int64_t time_us);

  /// Writes all points logged so far to the journal, so that they survive a kill of this process. Does not
  /// wait for the store.
  /// \error kResourceExhausted, kPermissionDenied  points were dropped, now or since the last call, because
  ///                                               the journal is full or the disk refused them; each error
  ///                                               is returned once
  Status flush();
  /// Uploads all points logged so far, so that readers see them. Waits for the store, but not for points that
  /// are logged meanwhile; the writer stays open. Each call may leave a small segment.
  /// \error kDeadlineExceeded  the store did not take them within that time; the journal has them; as `flush`
  Status publish(std::chrono::milliseconds within);
  /// Uploads all points, marks the log as complete, and removes the journal. Compacts the log if it has many
  /// segments. Points that are logged meanwhile are dropped and counted. May be repeated after an error. A
  /// request that makes no progress fails after `within`, but not before one second; a request that makes
  /// progress may take `call`'s time.
  /// \error kDeadlineExceeded  the store did not take them within that time; they are in the journal, for
  ///                           `recover_metrics`; as `flush`
  Status close(std::chrono::milliseconds within);

  struct Counts {
    std::uint64_t dropped = 0;
    std::uint64_t waiting_bytes = 0;  // in the journal, not in the store yet
    std::uint64_t segments = 0;       // in the store
    Status last_failure{};            // of the store; cleared when it takes a segment
  };
  Counts counts() const;
  const Location& location() const { return log_; }

 private:
  using Clock = Background::Clock;

  MetricWriter(Location log, MetricWriterOptions options, MetricJournal journal, Background& background);
  void order_journal(Clock::time_point time);
  void order_upload(Clock::time_point time);
  Status write_journal(bool is_end);
  Status write_end();
  void end_file_if_due(bool at_once);
  void upload();
  Status upload_first(const CallOptions& call);
  std::optional<std::uint64_t> end_file();
  bool is_uploaded(std::optional<std::uint64_t> last) const;
  Status upload_until(std::optional<std::uint64_t> last, Clock::time_point end);

  const Location log_;
  const MetricWriterOptions options_;
  Background& background_;

  // Locks are taken in this order.
  std::mutex closing_;
  std::mutex uploading_;
  Bytes previous_;  // SHA-256 of the previous segment

  mutable std::mutex journaling_;
  MetricJournal journal_;
  std::vector<std::string> journal_names_;  // a copy of names_, so that writing the journal blocks no caller
  Clock::time_point file_began_{};
  std::deque<std::uint64_t> ended_;  // numbers of the files to upload
  bool is_upload_ordered_ = false;
  std::uint64_t segments_ = 0;
  Status store_failure_{};

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  std::vector<MetricPoint> points_;
  std::uint64_t dropped_ = 0;
  Status unreported_{};
  bool is_journal_ordered_ = false;
  bool is_closed_ = false;
};

/// Writes the segment of a journal file into the log, unless it is there. Returns the segment's digest.
/// \param number    of the file and the segment
/// \param previous  SHA-256 of the previous segment; empty for the first
/// \error kFailedPrecondition  another segment has the number
Result<Bytes> write_segment_of(const MetricJournalFile& file, std::uint64_t number, const Bytes& previous,
                               const Location& log, const CallOptions& call);

}  // namespace headrace
