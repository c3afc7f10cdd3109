#pragma once

/// \file Reads the metrics that a run has logged: docs/formats/metric-segments.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/metrics/segment.h"
#include "headrace/store/location.h"

namespace headrace {

/// Prefix of metrics below a tracking root. A segment's key is this and `<run>/<part>/<segment>`.
inline constexpr std::string_view kMetricsPrefix = "_headrace/metrics/";

struct StoredSegment {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string key;
  std::uint64_t size_bytes = 0;
};

struct CoveringSegments {
  std::vector<StoredSegment> chosen;  // in order; each number from 0 on is in one of them
  std::vector<std::string> covered;   // keys of the others: compacted segments hold them
};
/// Chooses the segments with the largest ranges, so that each number is read once. `log` is for messages.
/// \error kDataLoss  a number is missing (the message names it), or two ranges overlap in part
Result<CoveringSegments> covering_segments(std::vector<StoredSegment> all, std::string_view log);

struct SegmentWithFooter {
  StoredSegment stored;
  SegmentFooter footer;
};

/// All points of a metric in the order in which they were logged.
struct MetricSeries {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_us;
  std::vector<double> values;
};

/// The log of one part of a run, as it was when it was opened. Thread-safe.
class MetricLog {
 public:
  /// Lists the log once, and reads the footer of each segment, several at a time. A missing log has no
  /// segments.
  /// \error kDataLoss  a segment is missing or damaged, or larger than kSegmentLimitBytes
  static Result<MetricLog> open(Location log, const CallOptions& call);

  /// The log as it is now: lists it once, and reads the footers of new segments.
  /// \error as `open`; kNotFound  the log was removed meanwhile
  Result<MetricLog> refreshed() const;

  const Location& location() const { return log_; }
  const std::vector<SegmentWithFooter>& segments() const { return segments_; }
  /// Keys of segments that a compaction has covered but not removed.
  const std::vector<std::string>& covered() const { return covered_; }
  /// Whether the writer was closed, so that no segment follows.
  bool is_ended() const { return !segments_.empty() && segments_.back().footer.head.is_end; }
  /// The step from which this attempt logs again; none if the log has no segments, or supersedes nothing.
  std::optional<std::int64_t> from_step() const;
  /// Names of the metrics, sorted.
  std::vector<std::string> names() const;
  /// A column of a segment. The pointers are valid as long as the MetricLog.
  struct StoredColumn {
    const SegmentWithFooter* segment = nullptr;
    const SegmentColumn* column = nullptr;
  };
  /// The columns that hold a metric, in the order of logging. Cost: a binary search and the result, as a log
  /// may have a million metrics.
  std::vector<StoredColumn> columns_of(std::string_view name) const;
  /// The points of a metric with steps from `first` on and before `end`; empty if there is no such metric. If
  /// the log was compacted meanwhile, lists it again.
  /// \error kNotFound  the log was removed meanwhile; kDataLoss  a segment is damaged
  Result<MetricSeries> read(std::string_view name, std::optional<std::int64_t> first = {},
                            std::optional<std::int64_t> end = {}) const;
  /// Reads everything: checks each segment's checksums, and that each segment names the one before it. If the
  /// log was compacted meanwhile, lists it again. Sets `*read` to the number of segments that were read, also
  /// after an error.
  /// \error kDataLoss  the message says what is wrong; kNotFound  the log was removed meanwhile
  Status verify(std::uint64_t* read = nullptr) const;

 private:
  struct ColumnPlace {
    std::uint32_t segment = 0;
    std::uint32_t column = 0;
  };

  MetricLog(Location log, std::vector<SegmentWithFooter> segments, std::vector<std::string> covered,
            CallOptions call);
  const SegmentColumn& column_at(ColumnPlace place) const {
    return segments_[place.segment].footer.columns[place.column];
  }
  Result<MetricSeries> read_once(std::string_view name, std::optional<std::int64_t> first,
                                 std::optional<std::int64_t> end) const;
  Status verify_once(std::uint64_t& read) const;
  static Result<MetricLog> open(const Location& log, const CallOptions& call,
                                const std::vector<SegmentWithFooter>& known);
  static Result<MetricLog> open_once(const Location& log, const CallOptions& call,
                                     const std::vector<SegmentWithFooter>& known);
  ReadSegment reader(const StoredSegment& segment) const;

  Location log_;
  std::vector<SegmentWithFooter> segments_;
  std::vector<ColumnPlace> by_name_;  // for one name, in the order of segments
  std::vector<std::string> covered_;
  CallOptions call_;
};

}  // namespace headrace
