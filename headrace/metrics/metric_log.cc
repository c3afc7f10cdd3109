#include "headrace/metrics/metric_log.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {

namespace {

constexpr int kListedAgain = 3;
constexpr int kFootersAtOnce = 16;

Result<Bytes> read_range(const Location& log, const StoredSegment& segment, std::uint64_t offset,
                         std::uint64_t size, const CallOptions& call) {
  if (size > kSegmentLimitBytes)
    return Error{Code::kDataLoss, concat(log.store->describe(segment.key), ": a range of ", size,
                                         " bytes is larger than a segment can be")};
  Bytes bytes(size);
  ReadOptions options{.offset_bytes = offset};
  options.call = call;
  HEADRACE_CHECK(read_exactly(*log.store, segment.key, bytes, options));
  return bytes;
}

ReadSegment reader_of(const Location& log, const StoredSegment& segment, const CallOptions& call) {
  return [log, segment, call](std::uint64_t offset, std::uint64_t size) {
    return read_range(log, segment, offset, size, call);
  };
}

void append_between(const AxisPoints& axis, const std::vector<double>& values,
                    std::optional<std::int64_t> first, std::optional<std::int64_t> end,
                    MetricSeries& series) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((first && axis.steps[i] < *first) || (end && axis.steps[i] >= *end)) continue;
    series.steps.push_back(axis.steps[i]);
    series.times_us.push_back(axis.times_us[i]);
    series.values.push_back(values[i]);
  }
}

// Readers do not use the levels of version 1, but these must not be damaged either.
Status verify_levels(const ReadSegment& read, const SegmentFooter& footer, const SegmentColumn& column) {
  const std::uint64_t points = footer.axes[column.axis].points;
  if (footer.version == 1) {
    for (const auto& level : column.levels) HEADRACE_CHECK(read_piece(read, level.front(), 2 * 8 * points));
    return {};
  }
  for (std::size_t level = 0; level < level_count(points); ++level)
    HEADRACE_CHECK(read_level(read, footer, column, level));
  return {};
}

Status verify_segment(const Bytes& segment, const SegmentFooter& footer) {
  const ReadSegment read = read_from(segment);
  for (const SegmentAxis& axis : footer.axes) {
    HEADRACE_CHECK(read_axis(read, axis));
    for (const AxisNumbers* const numbers : {&axis.steps, &axis.times_us})
      HEADRACE_CHECK(read_samples(read, axis, *numbers));
  }
  for (const SegmentColumn& column : footer.columns) {
    HEADRACE_CHECK(read_values(read, footer, column));
    HEADRACE_CHECK(verify_levels(read, footer, column));
  }
  return {};
}

// The segment with that key among `known`, if it is the same object.
const SegmentWithFooter* find_known(const std::vector<SegmentWithFooter>& known,
                                    const StoredSegment& stored) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const SegmentWithFooter& segment) {
    return segment.stored.key == stored.key && segment.stored.size_bytes == stored.size_bytes;
  });
  return found == known.end() ? nullptr : &*found;
}

Result<SegmentWithFooter> open_segment_of(const Location& log, StoredSegment stored,
                                          const CallOptions& call) {
  auto footer = read_footer(reader_of(log, stored, call), stored.size_bytes);
  if (!footer) return std::move(footer).error().in(log.store->describe(stored.key));
  const SegmentHead& head = footer->head;
  if (head.first != stored.first || head.last != stored.last)
    return Error{Code::kDataLoss, concat(log.store->describe(stored.key), " holds the segments ", head.first,
                                         " to ", head.last, ", which its name does not say")};
  return SegmentWithFooter{std::move(stored), std::move(*footer)};
}

}  // namespace

Result<CoveringSegments> covering_segments(std::vector<StoredSegment> all, std::string_view log) {
  std::sort(all.begin(), all.end(), [](const StoredSegment& a, const StoredSegment& b) {
    return std::pair(a.first, b.last) < std::pair(b.first, a.last);
  });
  CoveringSegments result;
  std::uint64_t next = 0;
  for (StoredSegment& segment : all) {
    if (segment.first > next)
      return Error{Code::kDataLoss,
                   concat(log, ": segment ", segment_name(next, next), " is missing; there are later ones")};
    if (segment.first < next) {
      if (segment.last >= next) {
        return Error{Code::kDataLoss, concat(log, ": segment ", segment_name(segment.first, segment.last),
                                             " holds a part of the one before it")};
      }
      result.covered.push_back(std::move(segment.key));
      continue;
    }
    next = segment.last + 1;
    result.chosen.push_back(std::move(segment));
  }
  return result;
}

Result<MetricLog> MetricLog::open(Location log, const CallOptions& call) { return open(log, call, {}); }

Result<MetricLog> MetricLog::open(const Location& log, const CallOptions& call,
                                  const std::vector<SegmentWithFooter>& known) {
  auto opened = open_once(log, call, known);
  // Segments that were compacted meanwhile are removed, possibly between two pages of the listing.
  for (int i = 0; i < kListedAgain && !opened; ++i) {
    if (opened.error().code != Code::kNotFound && opened.error().code != Code::kDataLoss) break;
    opened = open_once(log, call, known);
  }
  return opened;
}

Result<MetricLog> MetricLog::open_once(const Location& log, const CallOptions& call,
                                       const std::vector<SegmentWithFooter>& known) {
  std::vector<StoredSegment> all;
  const std::string prefix = folder_prefix(log.key);
  ListOptions options;
  options.call = call;
  HEADRACE_CHECK(log.store->list(prefix, options, [&](const ObjectInfo& object) {
    if (const auto range = parse_segment_name(std::string_view(object.key).substr(prefix.size())))
      all.push_back({range->first, range->second, object.key, object.size_bytes});
    return true;
  }));
  HEADRACE_TRY(CoveringSegments covering, covering_segments(std::move(all), log.describe()));
  std::vector<StoredSegment>& stored = covering.chosen;
  for (const StoredSegment& segment : stored) {
    if (segment.size_bytes > kSegmentLimitBytes)
      return Error{Code::kDataLoss,
                   concat(log.store->describe(segment.key), " has ", format_size(segment.size_bytes),
                          ", more than a segment can have")};
  }
  std::vector<SegmentWithFooter> segments(stored.size());
  HEADRACE_CHECK(parallel_for(kFootersAtOnce, stored.size(), [&](std::size_t i) -> Status {
    if (const SegmentWithFooter* const same = find_known(known, stored[i])) {
      segments[i] = *same;
      return {};
    }
    HEADRACE_TRY(segments[i], open_segment_of(log, std::move(stored[i]), call));
    return {};
  }));
  return MetricLog(log, std::move(segments), std::move(covering.covered), call);
}

// Opens the log again after a segment is gone: a compacted segment holds its points, or somebody has removed
// the log.
Result<MetricLog> MetricLog::refreshed() const {
  HEADRACE_TRY(MetricLog again, open(log_, call_, segments_));
  if (segments_.empty()) return again;
  if (again.segments_.empty() || again.segments_.back().stored.last < segments_.back().stored.last)
    return Error{Code::kNotFound, log_.describe() + " was removed while it was read"};
  return again;
}

ReadSegment MetricLog::reader(const StoredSegment& segment) const { return reader_of(log_, segment, call_); }

std::optional<std::int64_t> MetricLog::from_step() const {
  return segments_.empty() ? std::nullopt : segments_.front().footer.head.from_step;
}

MetricLog::MetricLog(Location log, std::vector<SegmentWithFooter> segments, std::vector<std::string> covered,
                     CallOptions call)
    : log_(std::move(log)),
      segments_(std::move(segments)),
      covered_(std::move(covered)),
      call_(std::move(call)) {
  for (std::uint32_t segment = 0; segment < segments_.size(); ++segment) {
    const std::size_t columns = segments_[segment].footer.columns.size();
    for (std::uint32_t column = 0; column < columns; ++column) by_name_.push_back({segment, column});
  }
  std::ranges::stable_sort(by_name_, {},
                           [&](ColumnPlace place) -> std::string_view { return column_at(place).name; });
}

std::vector<std::string> MetricLog::names() const {
  std::vector<std::string> all;
  for (const ColumnPlace place : by_name_) {
    if (all.empty() || all.back() != column_at(place).name) all.push_back(column_at(place).name);
  }
  return all;
}

std::vector<MetricLog::StoredColumn> MetricLog::columns_of(std::string_view name) const {
  std::vector<StoredColumn> found;
  auto place = std::ranges::lower_bound(
      by_name_, name, {}, [&](ColumnPlace each) -> std::string_view { return column_at(each).name; });
  for (; place != by_name_.end() && column_at(*place).name == name; ++place)
    found.push_back({&segments_[place->segment], &column_at(*place)});
  return found;
}

Result<MetricSeries> MetricLog::read(std::string_view name, std::optional<std::int64_t> first,
                                     std::optional<std::int64_t> end) const {
  auto series = read_once(name, first, end);
  for (int i = 0; i < kListedAgain && !series && series.error().code == Code::kNotFound; ++i) {
    HEADRACE_TRY(const MetricLog compacted, refreshed());
    series = compacted.read_once(name, first, end);
  }
  return series;
}

Result<MetricSeries> MetricLog::read_once(std::string_view name, std::optional<std::int64_t> first,
                                          std::optional<std::int64_t> end) const {
  MetricSeries series;
  for (const auto& [segment, column] : columns_of(name)) {
    const ReadSegment read = reader(segment->stored);
    auto axis = read_axis(read, segment->footer.axes[column->axis]);
    if (!axis) return std::move(axis).error().in(log_.store->describe(segment->stored.key));
    auto values = read_values(read, segment->footer, *column);
    if (!values) return std::move(values).error().in(log_.store->describe(segment->stored.key));
    append_between(*axis, *values, first, end, series);
  }
  return series;
}

Status MetricLog::verify(std::uint64_t* read) const {
  std::uint64_t unseen = 0;
  std::uint64_t& count = read ? *read : unseen;
  Status verified = verify_once(count);
  for (int i = 0; i < kListedAgain && !verified && verified.error().code == Code::kNotFound; ++i) {
    HEADRACE_TRY(const MetricLog compacted, refreshed());
    verified = compacted.verify_once(count);
  }
  return verified;
}

Status MetricLog::verify_once(std::uint64_t& read) const {
  read = 0;
  Bytes before;
  for (const SegmentWithFooter& segment : segments_) {
    const std::string place = log_.store->describe(segment.stored.key);
    HEADRACE_TRY(const ReadObject object,
                 read_object(*log_.store, segment.stored.key, kSegmentLimitBytes, call_));
    ++read;
    if (Status whole = verify_segment(object.data, segment.footer); !whole)
      return std::move(whole).error().in(place);
    const SegmentHead& head = segment.footer.head;
    if (head.previous != before)
      return Error{Code::kDataLoss, concat(place, " does not follow the segment before it")};
    before = head.last_digest.empty() ? sha256(object.data) : head.last_digest;
  }
  return {};
}

}  // namespace headrace
