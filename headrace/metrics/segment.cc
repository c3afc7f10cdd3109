#include "headrace/metrics/segment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/metrics/segment_footer.h"

namespace headrace {

namespace {

constexpr std::string_view kSegmentMagic = "HRMETRIC";
constexpr std::size_t kTrailerBytes = 16;
constexpr std::uint64_t kReadAtOnceBytes = 64 << 10;
constexpr std::uint64_t kMostLastGroups = 16;

constexpr int kNumberDigits = 6;

std::string digits(std::uint64_t number) { return zero_padded(number, kNumberDigits); }

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  const auto number = parse_number<std::uint64_t>(text);
  return number && digits(*number) == text ? number : std::nullopt;
}

// The points of one metric, up to the limit of one axis.
struct PointsOfMetric {
  std::uint32_t metric = 0;
  std::vector<std::int64_t> steps{};
  std::vector<std::int64_t> times_us{};
  std::vector<double> values{};
};

std::vector<PointsOfMetric> by_metric(std::size_t names, std::span<const MetricPoint> points) {
  std::vector<PointsOfMetric> all;
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> open(names, kNone);
  for (const MetricPoint& point : points) {
    std::size_t& place = open[point.metric];
    if (place == kNone || all[place].values.size() == kMostAxisPoints) {
      place = all.size();
      all.push_back({.metric = point.metric});
    }
    PointsOfMetric& series = all[place];
    series.steps.push_back(point.step);
    series.times_us.push_back(point.time_us);
    series.values.push_back(point.value);
  }
  return all;
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void append_group(LevelGroups& groups) {
  groups.minima.push_back(kNaN);
  groups.maxima.push_back(kNaN);
  groups.lasts.push_back(kNaN);
  groups.not_finite.push_back(0);
}

void widen_last_group(LevelGroups& groups, double minimum, double maximum, double last) {
  groups.minima.back() = std::fmin(groups.minima.back(), minimum);
  groups.maxima.back() = std::fmax(groups.maxima.back(), maximum);
  if (!std::isnan(last)) groups.lasts.back() = last;
}

LevelGroups lowest_level(std::span<const double> values) {
  LevelGroups groups;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % kPointsPerGroup == 0) append_group(groups);
    if (std::isfinite(values[i])) {
      widen_last_group(groups, values[i], values[i], values[i]);
    } else {
      ++groups.not_finite.back();
    }
  }
  return groups;
}

LevelGroups level_above(const LevelGroups& below) {
  LevelGroups groups;
  for (std::size_t i = 0; i < below.minima.size(); ++i) {
    if (i % kGroupsPerGroup == 0) append_group(groups);
    widen_last_group(groups, below.minima[i], below.maxima[i], below.lasts[i]);
    groups.not_finite.back() += below.not_finite[i];
  }
  return groups;
}

// The groups from `first` up to `end`, encoded by encode_values.
Bytes encode_groups(const LevelGroups& groups, std::size_t first, std::size_t end,
                    const SegmentColumn& column) {
  std::vector<double> all;
  for (const auto* const values : {&groups.minima, &groups.maxima, &groups.lasts, &groups.not_finite}) {
    if (values == &groups.not_finite && column.not_finite == 0) break;
    const auto some = std::span(*values).subspan(first, end - first);
    all.insert(all.end(), some.begin(), some.end());
  }
  return encode_values(all, column.width);
}

template <typename Append>
std::vector<SegmentPiece> append_pieces(std::size_t entries, Append append_entries) {
  std::vector<SegmentPiece> pieces;
  for (std::size_t first = 0; first < entries; first += kEntriesPerPiece)
    pieces.push_back(append_entries(first, std::min<std::size_t>(entries, first + kEntriesPerPiece)));
  return pieces;
}

std::optional<std::uint64_t> distance_of(std::span<const std::int64_t> numbers) {
  if (numbers.size() < 2) return 0;
  const std::uint64_t distance =
      static_cast<std::uint64_t>(numbers[1]) - static_cast<std::uint64_t>(numbers[0]);
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] < numbers[i - 1]) return std::nullopt;
    if (static_cast<std::uint64_t>(numbers[i]) - static_cast<std::uint64_t>(numbers[i - 1]) != distance)
      return std::nullopt;
  }
  return distance;
}

AxisNumbers append_numbers(Bytes& out, std::span<const std::int64_t> numbers) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  AxisNumbers axis{.distance = distance_of(numbers), .minimum = *least, .maximum = *most};
  if (axis.distance) return axis;
  axis.pieces = append_pieces(numbers.size(), [&](std::size_t first, std::size_t end) {
    return append_piece(out, encode_integers(numbers.subspan(first, end - first)));
  });
  if (level_count(numbers.size()) == 0 || !std::is_sorted(numbers.begin(), numbers.end())) return axis;
  std::vector<std::int64_t> samples;
  for (std::size_t i = 0; i < numbers.size(); i += kPointsPerGroup) samples.push_back(numbers[i]);
  axis.samples = append_piece(out, encode_integers(samples));
  return axis;
}

SegmentColumn append_column(Bytes& out, std::string name, std::span<const double> values) {
  SegmentColumn column{.name = std::move(name), .width = width_of_values(values)};
  column.values = append_pieces(values.size(), [&](std::size_t first, std::size_t end) {
    const Bytes planes = encode_values(values.subspan(first, end - first), column.width);
    return append_uncompressed_piece(out, pack_planes(planes, column.width));
  });
  for (const double value : values) {
    if (!std::isfinite(value)) ++column.not_finite;
    if (std::isnan(value)) {
      ++column.nan_count;
    } else {
      column.minimum = std::min(column.minimum.value_or(value), value);
      column.maximum = std::max(column.maximum.value_or(value), value);
    }
  }
  column.last = values.back();
  return column;
}

// Levels are stored after all values, and each level holds all columns together: a chart reads one range of
// levels.
void append_levels(Bytes& out, std::span<SegmentColumn> columns, std::span<const PointsOfMetric> series) {
  std::vector<LevelGroups> groups(columns.size());
  bool has_more = true;
  for (std::size_t level = 0; has_more; ++level) {
    has_more = false;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t levels = level_count(series[i].values.size());
      if (level >= levels) continue;
      groups[i] = level == 0 ? lowest_level(series[i].values) : level_above(groups[i]);
      const std::size_t count = groups[i].minima.size();
      if (level + 1 == levels) {
        columns[i].last_level = encode_groups(groups[i], 0, count, columns[i]);
        continue;
      }
      has_more = true;
      columns[i].levels.push_back(append_pieces(count, [&](std::size_t first, std::size_t end) {
        const Bytes planes = encode_groups(groups[i], first, end, columns[i]);
        return append_uncompressed_piece(out, pack_planes(planes, columns[i].width));
      }));
    }
  }
}

// Reading

Error damaged(std::string_view what) { return Error{Code::kDataLoss, concat("a damaged segment: ", what)}; }

Result<std::vector<std::int64_t>> read_integers(const ReadSegment& read, const SegmentPiece& piece,
                                                std::uint64_t count) {
  HEADRACE_TRY(const Bytes raw, read_piece(read, piece, count * kMostVarintBytes));
  return decode_integers(raw, count);
}

// The arrays that encode_groups has concatenated.
GroupViews views_of(std::span<const double> values, std::uint64_t count) {
  return {.minima = values.first(count),
          .maxima = values.subspan(count, count),
          .lasts = values.subspan(2 * count, count),
          .not_finite = values.subspan(3 * count)};
}

void append_groups(LevelGroups& all, const GroupViews& groups) {
  const auto add = [](std::vector<double>& to, std::span<const double> some) {
    to.insert(to.end(), some.begin(), some.end());
  };
  add(all.minima, groups.minima);
  add(all.maxima, groups.maxima);
  add(all.lasts, groups.lasts);
  add(all.not_finite, groups.not_finite);
}

// Reads all steps, or all times, of an axis.
Result<std::vector<std::int64_t>> read_numbers(const ReadSegment& read, const SegmentAxis& axis,
                                               const AxisNumbers& numbers) {
  std::vector<std::int64_t> all;
  if (numbers.distance) {
    for (std::uint64_t i = 0; i < axis.points; ++i)
      all.push_back(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers.minimum) + i * *numbers.distance));
    return all;
  }
  const std::uint64_t per_piece = numbers.pieces.size() == 1 ? axis.points : kEntriesPerPiece;
  for (std::uint64_t first = 0; first < axis.points; first += per_piece) {
    HEADRACE_TRY(
        const std::vector<std::int64_t> some,
        read_integers(read, numbers.pieces.at(first / per_piece), std::min(per_piece, axis.points - first)));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::size_t arrays_of(const SegmentColumn& column) { return column.not_finite == 0 ? 3 : 4; }

}  // namespace

Bytes encode_segment(const SegmentHead& head, std::span<const std::string> names,
                     std::span<const MetricPoint> points) {
  Bytes out;
  SegmentFooter footer{.head = head};
  const std::vector<PointsOfMetric> all = by_metric(names.size(), points);
  std::map<std::string, std::size_t> axes;  // by steps and times
  for (const PointsOfMetric& series : all) {
    const Bytes steps = encode_integers(series.steps);
    const Bytes times = encode_integers(series.times_us);
    const auto [found, is_new] = axes.try_emplace(concat(as_text(steps), as_text(times)), footer.axes.size());
    if (is_new)
      footer.axes.push_back({.points = series.steps.size(),
                             .steps = append_numbers(out, series.steps),
                             .times_us = append_numbers(out, series.times_us),
                             .last_step = series.steps.back()});
    SegmentColumn column = append_column(out, names[series.metric], series.values);
    column.axis = found->second;
    footer.columns.push_back(std::move(column));
  }
  append_levels(out, footer.columns, all);
  const Bytes end = encode_footer(footer);
  append(out, end);
  append_little_endian(out, static_cast<std::uint32_t>(end.size()));
  append_little_endian(out, crc32c(end));
  append(out, as_bytes(kSegmentMagic));
  return out;
}

Result<SegmentFooter> read_footer(const ReadSegment& read, std::uint64_t size_bytes) {
  const std::uint64_t at_once = std::min(size_bytes, kReadAtOnceBytes);
  if (at_once < kTrailerBytes) return damaged("it is too short");
  HEADRACE_TRY(Bytes end, read(size_bytes - at_once, at_once));
  if (end.size() != at_once) return damaged("it became shorter while it was read");
  const std::byte* const trailer = end.data() + end.size() - kTrailerBytes;
  if (as_text({trailer + 8, kSegmentMagic.size()}) != kSegmentMagic)
    return damaged("its end mark is missing");
  const auto size = load_little_endian<std::uint32_t>(trailer);
  const auto checksum = load_little_endian<std::uint32_t>(trailer + 4);
  if (size > size_bytes - kTrailerBytes) return damaged("its footer is larger than the segment");
  if (size + kTrailerBytes > end.size()) {
    HEADRACE_TRY(end, read(size_bytes - kTrailerBytes - size, size + kTrailerBytes));
    if (end.size() != size + kTrailerBytes) return damaged("it became shorter while it was read");
  }
  const BytesView footer(end.data() + end.size() - kTrailerBytes - size, size);
  if (crc32c(footer) != checksum) return damaged("the checksum of its footer does not match");
  return parse_footer(footer);
}

Result<std::vector<std::int64_t>> read_samples(const ReadSegment& read, const SegmentAxis& axis,
                                               const AxisNumbers& numbers) {
  const std::uint64_t count = groups_in_level(axis.points, 0);
  if (numbers.samples) return read_integers(read, *numbers.samples, count);
  std::vector<std::int64_t> samples;
  const std::uint64_t distance = numbers.distance.value_or(0) * kPointsPerGroup;
  for (std::uint64_t i = 0; i < count; ++i)
    samples.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(numbers.minimum) + i * distance));
  return samples;
}

Result<AxisPoints> read_axis(const ReadSegment& read, const SegmentAxis& axis) {
  AxisPoints points;
  HEADRACE_TRY(points.steps, read_numbers(read, axis, axis.steps));
  HEADRACE_TRY(points.times_us, read_numbers(read, axis, axis.times_us));
  return points;
}

Result<std::vector<double>> read_values(const ReadSegment& read, const SegmentFooter& footer,
                                        const SegmentColumn& column) {
  const std::uint64_t points = footer.axes.at(column.axis).points;
  const std::uint64_t per_piece = points_per_piece(footer);
  std::vector<double> values, some;
  for (std::uint64_t first = 0; first < points; first += per_piece) {
    const std::uint64_t count = std::min(per_piece, points - first);
    HEADRACE_TRY(const Bytes stored,
                 read_piece(read, column.values.at(first / per_piece), most_value_bytes(column, count)));
    HEADRACE_CHECK(decode_piece_values(stored, footer, column, count, some));
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

std::uint64_t points_per_piece(const SegmentFooter& footer) {
  return footer.version == 1 ? kMostAxisPoints : kEntriesPerPiece;
}

Status decode_piece_values(BytesView stored, const SegmentFooter& footer, const SegmentColumn& column,
                           std::uint64_t count, std::vector<double>& values) {
  if (footer.version > 1) return decode_packed_values(stored, column.width, count, values);
  if (stored.size() != count * column.width) return damaged("a column has more or fewer values than points");
  decode_values(stored, column.width, values);
  return {};
}

std::uint64_t most_value_bytes(const SegmentColumn& column, std::uint64_t count) {
  return (count + kMostVarintBytes) * column.width;
}

Result<GroupViews> decode_groups(BytesView stored, const SegmentColumn& column, std::uint64_t count,
                                 std::vector<double>& values) {
  HEADRACE_CHECK(decode_packed_values(stored, column.width, arrays_of(column) * count, values));
  return views_of(values, count);
}

Result<GroupViews> decode_last_level(BytesView planes, const SegmentColumn& column, std::uint64_t count,
                                     std::vector<double>& values) {
  if (planes.size() != last_level_bytes(column, count))
    return damaged("a level of its pyramids has a wrong size");
  decode_values(planes, column.width, values);
  return views_of(values, count);
}

std::uint64_t last_level_bytes(const SegmentColumn& column, std::uint64_t groups) {
  return arrays_of(column) * groups * column.width;
}

std::uint64_t most_group_bytes(const SegmentColumn& column, std::uint64_t groups) {
  return most_value_bytes(column, arrays_of(column) * groups);
}

Result<LevelGroups> read_level(const ReadSegment& read, const SegmentFooter& footer,
                               const SegmentColumn& column, std::size_t level) {
  const std::uint64_t count = groups_in_level(footer.axes.at(column.axis).points, level);
  LevelGroups all;
  std::vector<double> values;
  if (level == column.levels.size()) {
    HEADRACE_TRY(const GroupViews groups, decode_last_level(column.last_level, column, count, values));
    append_groups(all, groups);
    return all;
  }
  for (std::uint64_t first = 0; first < count; first += kEntriesPerPiece) {
    const std::uint64_t some = std::min(kEntriesPerPiece, count - first);
    HEADRACE_TRY(const Bytes raw, read_piece(read, column.levels.at(level).at(first / kEntriesPerPiece),
                                             most_group_bytes(column, some)));
    HEADRACE_TRY(const GroupViews groups, decode_groups(raw, column, some, values));
    append_groups(all, groups);
  }
  return all;
}

std::string segment_name(std::uint64_t first, std::uint64_t last) {
  return first == last ? digits(first) : concat(digits(first), '-', digits(last));
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_segment_name(std::string_view name) {
  const std::size_t dash = name.find('-');
  const auto first = parse_digits(name.substr(0, dash));
  if (!first) return std::nullopt;
  if (dash == std::string_view::npos) return std::pair(*first, *first);
  const auto last = parse_digits(name.substr(dash + 1));
  if (!last || *last <= *first) return std::nullopt;
  return std::pair(*first, *last);
}

std::uint64_t points_per_group(std::size_t level) {
  std::uint64_t points = kPointsPerGroup;
  while (level-- > 0) points *= kGroupsPerGroup;
  return points;
}

std::uint64_t groups_in_level(std::uint64_t points, std::size_t level) {
  const std::uint64_t group = points_per_group(level);
  return (points + group - 1) / group;
}

std::size_t level_count(std::uint64_t points) {
  if (points < 2 * kPointsPerGroup) return 0;
  std::size_t levels = 1;
  while (groups_in_level(points, levels - 1) > kMostLastGroups) ++levels;
  return levels;
}

}  // namespace headrace
