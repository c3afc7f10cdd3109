#include "headrace/metrics/segment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {

namespace {

constexpr std::uint64_t kSegmentVersion = 1;
constexpr std::string_view kSegmentMagic = "HRMETRIC";
constexpr std::size_t kTrailerBytes = 16;
constexpr std::uint64_t kReadAtOnceBytes = 64 << 10;
constexpr std::uint64_t kMostAxisPoints = 1 << 22;  // a longer series has several columns
constexpr std::size_t kMostIntegerBytes = 10;
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kMostLevels = 8;

constexpr int kNumberDigits = 6;

std::string digits(std::uint64_t number) { return zero_padded(number, kNumberDigits); }

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  const auto number = parse_number<std::uint64_t>(text);
  return number && digits(*number) == text ? number : std::nullopt;
}

// One metric's points, until there are too many for one axis.
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

/// `reduce` makes one pair of a group; NaN loses against any number.
template <typename Item, typename Reduce>
std::vector<Extremes> extremes_of(std::span<const Item> items, std::uint64_t group, Reduce reduce) {
  std::vector<Extremes> pairs;
  for (std::size_t begin = 0; begin < items.size(); begin += group) {
    Extremes pair{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    for (const Item& item : items.subspan(begin, std::min<std::size_t>(group, items.size() - begin)))
      reduce(pair, item);
    pairs.push_back(pair);
  }
  return pairs;
}

void widen(Extremes& pair, double minimum, double maximum) {
  pair.minimum = std::fmin(pair.minimum, minimum);
  pair.maximum = std::fmax(pair.maximum, maximum);
}

std::vector<std::vector<Extremes>> pyramid(std::span<const double> values) {
  std::vector<std::vector<Extremes>> levels;
  if (values.size() < 2 * kPointsPerMinimum) return levels;
  levels.push_back(extremes_of(values, kPointsPerMinimum,
                               [](Extremes& pair, double value) { widen(pair, value, value); }));
  while (levels.back().size() > kPairsPerPair) {
    levels.push_back(extremes_of(
        std::span<const Extremes>(levels.back()), kPairsPerPair,
        [](Extremes& pair, const Extremes& below) { widen(pair, below.minimum, below.maximum); }));
  }
  return levels;
}

SegmentPiece append_level(Bytes& out, std::span<const Extremes> pairs, std::size_t width) {
  std::vector<double> minima;
  std::vector<double> maxima;
  for (const Extremes& pair : pairs) {
    minima.push_back(pair.minimum);
    maxima.push_back(pair.maximum);
  }
  Bytes raw = encode_values(minima, width);
  append(raw, encode_values(maxima, width));
  return append_piece(out, raw);
}

SegmentColumn append_column(Bytes& out, std::string name, std::span<const double> values) {
  SegmentColumn column{.name = std::move(name), .width = width_of_values(values)};
  column.values = append_piece(out, encode_values(values, column.width));
  for (const auto& level : pyramid(values)) column.levels.push_back(append_level(out, level, column.width));
  for (const double value : values) {
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

void write_piece(WireWriter& writer, std::uint32_t number, const SegmentPiece& piece) {
  writer.message(number, [&](WireWriter& message) {
    message.varint(1, piece.offset);
    message.varint(2, piece.size);
    message.varint(3, piece.crc32c);
    if (piece.raw_size != 0) message.varint(4, piece.raw_size);
  });
}

void write_column(WireWriter& writer, const SegmentColumn& column) {
  writer.text(1, column.name);
  writer.varint(2, column.axis);
  write_piece(writer, 3, column.values);
  writer.varint(4, column.width);
  if (column.minimum) writer.fixed64(5, *column.minimum);
  if (column.maximum) writer.fixed64(6, *column.maximum);
  writer.fixed64(7, column.last);
  if (column.nan_count != 0) writer.varint(8, column.nan_count);
  for (const SegmentPiece& level : column.levels) write_piece(writer, 9, level);
}

void write_head(WireWriter& writer, const SegmentHead& head) {
  writer.varint(1, kSegmentVersion);
  writer.varint(2, head.first);
  writer.varint(3, head.last);
  if (!head.previous.empty()) writer.bytes(4, head.previous);
  if (!head.points_digest.empty()) writer.bytes(5, head.points_digest);
  if (head.from_step) writer.varint(6, zigzag(*head.from_step));
  if (head.is_end) writer.varint(7, 1);
  if (!head.last_digest.empty()) writer.bytes(10, head.last_digest);
}

Bytes encode_footer(const SegmentFooter& footer) {
  Bytes out;
  WireWriter writer(out);
  write_head(writer, footer.head);
  for (const SegmentAxis& axis : footer.axes) {
    writer.message(8, [&](WireWriter& message) {
      message.varint(1, axis.points);
      write_piece(message, 2, axis.steps);
      write_piece(message, 3, axis.times);
      message.varint(4, zigzag(axis.last_step));
    });
  }
  for (const SegmentColumn& column : footer.columns)
    writer.message(9, [&](WireWriter& message) { write_column(message, column); });
  return out;
}

// Reading

Error damaged(std::string_view what) { return Error{Code::kDataLoss, concat("a damaged segment: ", what)}; }

Result<SegmentPiece> parse_piece(BytesView message) {
  SegmentPiece piece;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) piece.offset = field.value;
    if (field.number == 2) piece.size = field.value;
    if (field.number == 3) piece.crc32c = static_cast<std::uint32_t>(field.value);
    if (field.number == 4) piece.raw_size = field.value;
  }
  if (reader.malformed()) return damaged("a piece of its footer");
  return piece;
}

Result<SegmentAxis> parse_axis(BytesView message) {
  SegmentAxis axis;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) axis.points = field.value;
    if (field.number == 2) {
      HEADRACE_TRY(axis.steps, parse_piece(field.bytes));
    }
    if (field.number == 3) {
      HEADRACE_TRY(axis.times, parse_piece(field.bytes));
    }
    if (field.number == 4) axis.last_step = unzigzag(field.value);
  }
  if (reader.malformed() || axis.points == 0 || axis.points > kMostAxisPoints)
    return damaged("an axis of its footer");
  return axis;
}

Result<SegmentColumn> parse_column(BytesView message, std::size_t axes) {
  SegmentColumn column;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) column.name = field.as_text();
    if (field.number == 2) column.axis = field.value;
    if (field.number == 3) {
      HEADRACE_TRY(column.values, parse_piece(field.bytes));
    }
    if (field.number == 4) column.width = field.value;
    if (field.number == 5) column.minimum = field.as_double();
    if (field.number == 6) column.maximum = field.as_double();
    if (field.number == 7) column.last = field.as_double();
    if (field.number == 8) column.nan_count = field.value;
    if (field.number == 9) {
      HEADRACE_TRY(const SegmentPiece level, parse_piece(field.bytes));
      column.levels.push_back(level);
    }
  }
  const bool is_right = !column.name.empty() && column.name.size() <= kMetricNameBytes &&
                        column.axis < axes && (column.width == 4 || column.width == 8) &&
                        column.levels.size() <= kMostLevels;
  if (reader.malformed() || !is_right) return damaged("a column of its footer");
  return column;
}

Result<SegmentFooter> parse_footer(BytesView message) {
  SegmentFooter footer;
  SegmentHead& head = footer.head;
  std::uint64_t version = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    const Bytes bytes(field.bytes.begin(),
                      field.bytes.begin() + (field.bytes.size() == kDigestBytes ? kDigestBytes : 0));
    if (field.number == 1) version = field.value;
    if (version > kSegmentVersion)
      return Error{Code::kFailedPrecondition,
                   concat("a segment of version ", version, ", where this program knows ", kSegmentVersion,
                          ": read it with a newer Headrace")};
    if (field.number == 2) head.first = field.value;
    if (field.number == 3) head.last = field.value;
    if (field.number == 4) head.previous = bytes;
    if (field.number == 5) head.points_digest = bytes;
    if (field.number == 6) head.from_step = unzigzag(field.value);
    if (field.number == 7) head.is_end = field.value != 0;
    if (field.number == 10) head.last_digest = bytes;
    if (field.number == 8) {
      HEADRACE_TRY(footer.axes.emplace_back(), parse_axis(field.bytes));
    }
    if (field.number == 9) {
      HEADRACE_TRY(footer.columns.emplace_back(), parse_column(field.bytes, footer.axes.size()));
    }
  }
  if (reader.malformed() || version == 0 || head.last < head.first) return damaged("its footer");
  return footer;
}

std::uint64_t pairs_in_level(std::uint64_t points, std::size_t level) {
  const std::uint64_t group = points_per_pair(level);
  return (points + group - 1) / group;
}

Result<std::vector<double>> read_column(const ReadSegment& read, const SegmentPiece& piece,
                                        std::uint64_t count, std::size_t width) {
  HEADRACE_TRY(const Bytes raw, read_piece(read, piece, count * width));
  if (raw.size() != count * width) return damaged("a column has more or fewer values than points");
  return decode_values(raw, width);
}

}  // namespace

Bytes encode_segment(const SegmentHead& head, std::span<const std::string> names,
                     std::span<const MetricPoint> points) {
  Bytes out;
  SegmentFooter footer{.head = head};
  std::map<std::string, std::size_t> axes;  // by steps and times
  for (const PointsOfMetric& series : by_metric(names.size(), points)) {
    const Bytes steps = encode_integers(series.steps);
    const Bytes times = encode_integers(series.times_us);
    const auto [found, is_new] = axes.try_emplace(concat(as_text(steps), as_text(times)), footer.axes.size());
    if (is_new)
      footer.axes.push_back(
          {series.steps.size(), append_piece(out, steps), append_piece(out, times), series.steps.back()});
    SegmentColumn column = append_column(out, names[series.metric], series.values);
    column.axis = found->second;
    footer.columns.push_back(std::move(column));
  }
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
  if (end.size() != at_once) return damaged("it is shorter than it was");
  const std::byte* const trailer = end.data() + end.size() - kTrailerBytes;
  if (as_text({trailer + 8, kSegmentMagic.size()}) != kSegmentMagic) return damaged("its end");
  const auto size = load_little_endian<std::uint32_t>(trailer);
  const auto checksum = load_little_endian<std::uint32_t>(trailer + 4);
  if (size > size_bytes - kTrailerBytes) return damaged("its footer is larger than itself");
  if (size + kTrailerBytes > end.size()) {
    HEADRACE_TRY(end, read(size_bytes - kTrailerBytes - size, size + kTrailerBytes));
    if (end.size() != size + kTrailerBytes) return damaged("it is shorter than it was");
  }
  const BytesView footer(end.data() + end.size() - kTrailerBytes - size, size);
  if (crc32c(footer) != checksum) return damaged("the checksum of its footer");
  return parse_footer(footer);
}

Result<AxisPoints> read_axis(const ReadSegment& read, const SegmentAxis& axis) {
  const std::uint64_t most = axis.points * kMostIntegerBytes;
  HEADRACE_TRY(const Bytes steps, read_piece(read, axis.steps, most));
  HEADRACE_TRY(const Bytes times, read_piece(read, axis.times, most));
  AxisPoints points;
  HEADRACE_TRY(points.steps, decode_integers(steps, axis.points));
  HEADRACE_TRY(points.times_us, decode_integers(times, axis.points));
  return points;
}

Result<std::vector<double>> read_values(const ReadSegment& read, const SegmentFooter& footer,
                                        const SegmentColumn& column) {
  return read_column(read, column.values, footer.axes.at(column.axis).points, column.width);
}

Result<std::vector<Extremes>> read_level(const ReadSegment& read, const SegmentFooter& footer,
                                         const SegmentColumn& column, std::size_t level) {
  const std::uint64_t count = pairs_in_level(footer.axes.at(column.axis).points, level);
  HEADRACE_TRY(const Bytes raw, read_piece(read, column.levels.at(level), 2 * count * column.width));
  if (raw.size() != 2 * count * column.width) return damaged("a level of its pyramids");
  const BytesView bytes = raw;
  const std::vector<double> minima = decode_values(bytes.first(raw.size() / 2), column.width);
  const std::vector<double> maxima = decode_values(bytes.subspan(raw.size() / 2), column.width);
  std::vector<Extremes> pairs(count);
  for (std::size_t i = 0; i < count; ++i) pairs[i] = {minima[i], maxima[i]};
  return pairs;
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

std::uint64_t points_per_pair(std::size_t level) {
  std::uint64_t points = kPointsPerMinimum;
  while (level-- > 0) points *= kPairsPerPair;
  return points;
}

}  // namespace headrace
