#include "headrace/metrics/compact.h"

#include <map>
#include <span>
#include <string>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"

namespace headrace {

namespace {

constexpr int kBegunAgain = 3;

std::uint64_t points_in(const SegmentFooter& footer) {
  std::uint64_t points = 0;
  for (const SegmentColumn& column : footer.columns) points += footer.axes[column.axis].points;
  return points;
}

/// The points of several segments, with their names.
class Gathered {
 public:
  Status add(const Bytes& segment, const SegmentFooter& footer) {
    const ReadSegment read = read_from(segment);
    for (const SegmentColumn& column : footer.columns) {
      HEADRACE_TRY(const AxisPoints axis, read_axis(read, footer.axes[column.axis]));
      HEADRACE_TRY(const std::vector<double> values, read_values(read, footer, column));
      const auto [found, is_new] =
          numbers_.try_emplace(column.name, static_cast<std::uint32_t>(names_.size()));
      if (is_new) names_.push_back(column.name);
      for (std::size_t i = 0; i < values.size(); ++i)
        points_.push_back({found->second, axis.steps[i], axis.times_us[i], values[i]});
    }
    return {};
  }

  Bytes encode(const SegmentHead& head) const { return encode_segment(head, names_, points_); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  std::vector<MetricPoint> points_;
};

// Reads a segment in one request, because the listing has given its size.
Result<Bytes> read_segment(const Location& log, const StoredSegment& segment, const CallOptions& call) {
  Bytes data(segment.size_bytes);
  ReadOptions options{.is_whole = true};
  options.call = call;
  HEADRACE_CHECK(read_exactly(*log.store, segment.key, data, options));
  return data;
}

Result<Bytes> compacted_segment(const Location& log, std::span<const SegmentWithFooter> group,
                                const CallOptions& call) {
  SegmentHead head = group.front().footer.head;
  head.last = group.back().footer.head.last;
  head.is_end = group.back().footer.head.is_end;
  head.points_digest.clear();
  Gathered gathered;
  for (const SegmentWithFooter& segment : group) {
    HEADRACE_TRY(const Bytes data, read_segment(log, segment.stored, call));
    if (Status added = gathered.add(data, segment.footer); !added)
      return std::move(added).error().in(log.store->describe(segment.stored.key));
    const Bytes& last = segment.footer.head.last_digest;
    head.last_digest = last.empty() ? sha256(data) : last;
  }
  return gathered.encode(head);
}

Status replace_group(const Location& log, std::span<const SegmentWithFooter> group, const CallOptions& call,
                     Compacted& done) {
  HEADRACE_TRY(const Bytes segment, compacted_segment(log, group, call));
  const Location place = log.at(segment_name(group.front().footer.head.first, group.back().footer.head.last));
  WriteOptions options{.only_if_absent = true};
  options.call = call;
  const auto written = place.store->write(place.key, segment, options);
  if (!written && written.error().code != Code::kAlreadyExists) return written.error();
  done.written += written ? 1 : 0;
  std::vector<std::string> covered;
  for (const SegmentWithFooter& each : group) covered.push_back(each.stored.key);
  HEADRACE_CHECK(log.store->remove_many(covered, call));
  done.removed += covered.size();
  return {};
}

// Adds to the counts in `done`.
Status compact_once(const Location& log, const CallOptions& call, Compacted& done) {
  HEADRACE_TRY(const MetricLog opened, MetricLog::open(log, call));
  const std::span<const SegmentWithFooter> all = opened.segments();
  // A compaction that was killed or stalled has left these segments.
  if (!opened.covered().empty()) HEADRACE_CHECK(log.store->remove_many(opened.covered(), call));
  done.removed += opened.covered().size();
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin + 1;
    std::uint64_t points = points_in(all[begin].footer);
    while (end < all.size() && points + points_in(all[end].footer) <= kMostCompactedPoints)
      points += points_in(all[end++].footer);
    if (end > begin + 1) HEADRACE_CHECK(replace_group(log, all.subspan(begin, end - begin), call, done));
    begin = end;
  }
  return {};
}

}  // namespace

Result<Compacted> compact_log(const Location& log, const CallOptions& call) {
  Compacted done;
  Status compacted = compact_once(log, call, done);
  // Another compaction has merged the missing segment into its own.
  for (int i = 0; i < kBegunAgain && !compacted && compacted.error().code == Code::kNotFound; ++i)
    compacted = compact_once(log, call, done);
  if (!compacted) return compacted.error();
  return done;
}

}  // namespace headrace
