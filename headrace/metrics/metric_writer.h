#pragma once

/// \file Logs numbers of a run into a store, without making anybody wait for it.

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
  /// Folder of this machine for the journal; it must not be there yet. Its name is the part's.
  std::string journal_folder{};
  /// Points of earlier attempts at this step or later are superseded.
  std::optional<std::int64_t> from_step{};
  /// Longest time until a point survives a kill of this process.
  std::chrono::milliseconds journal_interval{500};
  /// Only `flush`, `publish` and `close` write the journal: an error of `flush` concerns what was logged
  /// since the call before.
  bool is_flushed_by_caller = false;
  /// Longest time until a point is on its way into the store, and after a failure until the next attempt.
  std::chrono::milliseconds segment_interval{10'000};
  /// Most bytes on this machine while the store cannot be reached.
  std::uint64_t most_journal_bytes = std::uint64_t{1} << 30;
  /// Most points in memory until they are in the journal.
  std::size_t most_held_points = 1 << 21;
  /// For each request to the store.
  CallOptions call{};
  /// Tests pass their own: the time of points, and when something is due.
  std::function<std::chrono::system_clock::time_point()> wall_clock = Environment{}.now;
  std::function<Background::Clock::time_point()> now = Background::Clock::now;
};

/// Thread-safe. `background` must outlive it, and should have two threads, so that the journal does not wait
/// for the store.
class MetricWriter : public std::enable_shared_from_this<MetricWriter> {
 public:
  /// A segment is written once so much waits, even before its time.
  static constexpr std::uint64_t kMostSegmentBytes = 8 << 20;

  /// Writes nothing into the store yet. `log` is the folder of the segments.
  static Result<std::shared_ptr<MetricWriter>> open(Location log, MetricWriterOptions options,
                                                    Background& background);
  /// Points that are not in the store stay in the journal.
  ~MetricWriter();

  /// Number of the metric of that name, the same each time.
  /// \error kInvalidArgument  the name is empty, longer than kMetricNameBytes, or no UTF-8
  Result<std::uint32_t> metric(std::string_view name);

  /// Takes a fraction of a microsecond. Never waits for a disk or the store. Points beyond
  /// `most_held_points`, and after `close`, are dropped and counted.
  void log(std::uint32_t metric, std::int64_t step, double value);
  /// The same for several at one time; the metrics' steps and times are kept once.
  struct Value {
    std::uint32_t metric = 0;
    double value = 0;
  };
  void log(std::span<const Value> values, std::int64_t step);
  /// The same, with a time of the caller's, in microseconds since 1970.
  void log(std::span<const Value> values, std::int64_t step, std::int64_t time_us);

  /// All points so far survive a kill of this process.
  /// \error of the disk, or why points were dropped; told once
  Status flush();
  /// All points so far are in the store, for readers. Waits for the store, not for points that are logged
  /// meanwhile; the writer goes on. Each call may leave a small segment.
  /// \error kDeadlineExceeded  not within that time; as `flush`
  Status publish(std::chrono::milliseconds within);
  /// All points are in the store, and the log says that it is whole; the journal is gone. Many segments
  /// become one. Points that are logged meanwhile are dropped and counted. May be repeated after an error. A
  /// request waits no longer than `within`, but a second at least, for progress; one that is under way has
  /// `call`'s time.
  /// \error kDeadlineExceeded  not within that time: they are in the journal, for `recover_metrics`
  Status close(std::chrono::milliseconds within);

  struct Counts {
    std::uint64_t dropped = 0;
    std::uint64_t waiting_bytes = 0;  // in the journal
    std::uint64_t segments = 0;       // in the store
    Status last_failure{};            // of the store, until it takes a segment
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
  Bytes previous_;  // digest of the segment before

  mutable std::mutex journaling_;
  MetricJournal journal_;
  std::vector<std::string> journal_names_;  // a copy of names_, so that a journal's write holds up nobody
  Clock::time_point file_began_{};
  std::deque<std::uint64_t> ended_;  // numbers of files that wait for the store
  bool is_upload_ordered_ = false;
  std::uint64_t segments_ = 0;
  Status store_failure_{};

  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  std::vector<MetricPoint> points_;
  std::uint64_t dropped_ = 0;
  Status untold_{};
  bool is_journal_ordered_ = false;
  bool is_closed_ = false;
};

/// Writes the segment of a file into the log, unless it is there.
/// `previous`: the digest of the segment before, empty for the first. Returns the digest of this one.
/// \error kFailedPrecondition  another segment has the number
Result<Bytes> write_segment_of(const MetricJournalFile& file, std::uint64_t number, const Bytes& previous,
                               const Location& log, const CallOptions& call);

}  // namespace headrace
