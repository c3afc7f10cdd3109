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

/// Where metrics lie below a tracking root: `<run>/<part>/<segment>` follows.
inline constexpr std::string_view kMetricsPrefix = "_headrace/metrics/";

/// "000003", or "000003-000017" of a compacted one.
std::string segment_name(std::uint64_t first, std::uint64_t last);
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_segment_name(std::string_view name);

struct StoredSegment {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::string key;
  std::uint64_t size_bytes = 0;
};

/// The segments that hold each number once, in order: the largest ranges, of all that are there. The first is
/// segment 0.
/// \error kDataLoss  a number is missing; names it
Result<std::vector<StoredSegment>> covering_segments(std::vector<StoredSegment> all, std::string_view log);

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

/// The log of one part of a run, as it is when it is opened. Thread-safe.
class MetricLog {
 public:
  /// One listing, and the footer of each segment, several at a time. A log that is not there has no segments.
  /// \error kDataLoss  a segment is missing or damaged
  static Result<MetricLog> open(Location log, const CallOptions& call);

  const std::vector<SegmentWithFooter>& segments() const { return segments_; }
  /// The writer was closed: no segment follows.
  bool is_ended() const { return !segments_.empty() && segments_.back().footer.head.is_end; }
  std::optional<std::int64_t> from_step() const;
  /// Names, sorted.
  std::vector<std::string> names() const;
  /// Points with steps from `first` on and before `end`; none if there is no such metric. If the log was
  /// compacted meanwhile, lists it again.
  Result<MetricSeries> read(std::string_view name, std::optional<std::int64_t> first = {},
                            std::optional<std::int64_t> end = {}) const;
  /// Reads everything: each segment's checksums, and that each names the one before.
  Status verify() const;

 private:
  MetricLog(Location log, std::vector<SegmentWithFooter> segments, CallOptions call)
      : log_(std::move(log)), segments_(std::move(segments)), call_(std::move(call)) {}
  Result<MetricSeries> read_once(std::string_view name, std::optional<std::int64_t> first,
                                 std::optional<std::int64_t> end) const;
  static Result<MetricLog> open_once(const Location& log, const CallOptions& call);
  ReadSegment reader(const StoredSegment& segment) const;

  Location log_;
  std::vector<SegmentWithFooter> segments_;
  CallOptions call_;
};

}  // namespace headrace
