#include "headrace/metrics/segment_footer.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/base/wire.h"

namespace headrace {

namespace {

constexpr std::uint64_t kSegmentVersion = 2;
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kMostLevels = 8;  // levels of a column in version 1

void write_piece(WireWriter& writer, std::uint32_t number, const SegmentPiece& piece) {
  writer.message(number, [&](WireWriter& message) {
    message.varint(1, piece.offset);
    message.varint(2, piece.size);
    message.varint(3, piece.crc32c);
    if (piece.raw_size != 0) message.varint(4, piece.raw_size);
  });
}

void write_numbers(WireWriter& writer, std::uint32_t number, const AxisNumbers& numbers) {
  writer.message(number, [&](WireWriter& message) {
    for (const SegmentPiece& piece : numbers.pieces) write_piece(message, 1, piece);
    if (numbers.samples) write_piece(message, 2, *numbers.samples);
    if (numbers.distance) message.varint(3, *numbers.distance);
    message.varint(4, zigzag(numbers.minimum));
    message.varint(5, zigzag(numbers.maximum));
  });
}

void write_column(WireWriter& writer, const SegmentColumn& column) {
  writer.text(1, column.name);
  writer.varint(2, column.axis);
  for (const SegmentPiece& piece : column.values) write_piece(writer, 3, piece);
  writer.varint(4, column.width);
  if (column.minimum) writer.fixed64(5, *column.minimum);
  if (column.maximum) writer.fixed64(6, *column.maximum);
  writer.fixed64(7, column.last);
  if (column.nan_count != 0) writer.varint(8, column.nan_count);
  for (const auto& level : column.levels) {
    for (const SegmentPiece& piece : level) write_piece(writer, 9, piece);
  }
  if (column.not_finite != 0) writer.varint(10, column.not_finite);
  if (!column.last_level.empty()) writer.bytes(11, column.last_level);
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

Error damaged_footer(std::string_view what) {
  return Error{Code::kDataLoss, concat("a damaged segment: ", what)};
}

std::uint64_t pieces_of(std::uint64_t entries) { return (entries + kEntriesPerPiece - 1) / kEntriesPerPiece; }

Result<SegmentPiece> parse_piece(BytesView message) {
  SegmentPiece piece;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) piece.offset = field.value;
    if (field.number == 2) piece.size = field.value;
    if (field.number == 3) piece.crc32c = static_cast<std::uint32_t>(field.value);
    if (field.number == 4) piece.raw_size = field.value;
  }
  if (reader.malformed()) return damaged_footer("a piece of its footer");
  return piece;
}

Result<AxisNumbers> parse_numbers(BytesView message) {
  AxisNumbers numbers;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) {
      HEADRACE_TRY(numbers.pieces.emplace_back(), parse_piece(field.bytes));
    }
    if (field.number == 2) {
      HEADRACE_TRY(numbers.samples, parse_piece(field.bytes));
    }
    if (field.number == 3) numbers.distance = field.value;
    if (field.number == 4) numbers.minimum = unzigzag(field.value);
    if (field.number == 5) numbers.maximum = unzigzag(field.value);
  }
  if (reader.malformed() || numbers.maximum < numbers.minimum) return damaged_footer("numbers of an axis");
  return numbers;
}

bool is_consistent(const AxisNumbers& numbers, std::uint64_t points) {
  if (!numbers.distance) return numbers.pieces.size() == pieces_of(points);
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t length =
      static_cast<std::uint64_t>(numbers.maximum) - static_cast<std::uint64_t>(numbers.minimum);
  return numbers.pieces.empty() && Wide(points - 1) * *numbers.distance == length;
}

// In version 1, fields 2 and 3 hold the only piece of steps and the only piece of times.
Result<SegmentAxis> parse_axis(BytesView message, std::uint64_t version) {
  SegmentAxis axis;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) axis.points = field.value;
    if (version == 1 && field.number == 2) {
      HEADRACE_TRY(axis.steps.pieces.emplace_back(), parse_piece(field.bytes));
    }
    if (version == 1 && field.number == 3) {
      HEADRACE_TRY(axis.times_us.pieces.emplace_back(), parse_piece(field.bytes));
    }
    if (field.number == 4) axis.last_step = unzigzag(field.value);
    if (version > 1 && field.number == 5) {
      HEADRACE_TRY(axis.steps, parse_numbers(field.bytes));
    }
    if (version > 1 && field.number == 6) {
      HEADRACE_TRY(axis.times_us, parse_numbers(field.bytes));
    }
  }
  const bool is_right = axis.points > 0 && axis.points <= kMostAxisPoints;
  if (reader.malformed() || !is_right) return damaged_footer("an axis of its footer");
  for (const AxisNumbers* const numbers : {&axis.steps, &axis.times_us}) {
    const bool fits = version == 1 ? numbers->pieces.size() == 1 : is_consistent(*numbers, axis.points);
    if (!fits) return damaged_footer("the pieces of an axis");
  }
  return axis;
}

// Assigns the pieces to their levels.
bool sort_levels(SegmentColumn& column, std::vector<SegmentPiece> pieces, std::uint64_t points) {
  auto next = pieces.begin();
  for (std::size_t level = 0; level + 1 < level_count(points); ++level) {
    const auto count = static_cast<std::ptrdiff_t>(pieces_of(groups_in_level(points, level)));
    if (pieces.end() - next < count) return false;
    column.levels.emplace_back(next, next + count);
    next += count;
  }
  const std::size_t levels = level_count(points);
  const std::uint64_t most = levels == 0 ? 0 : last_level_bytes(column, groups_in_level(points, levels - 1));
  return next == pieces.end() && column.last_level.size() == most;
}

Result<SegmentColumn> parse_column(BytesView message, const SegmentFooter& footer) {
  SegmentColumn column;
  std::vector<SegmentPiece> levels;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    if (field.number == 1) column.name = field.as_text();
    if (field.number == 2) column.axis = field.value;
    if (field.number == 3) {
      HEADRACE_TRY(column.values.emplace_back(), parse_piece(field.bytes));
    }
    if (field.number == 4) column.width = field.value;
    if (field.number == 5) column.minimum = field.as_double();
    if (field.number == 6) column.maximum = field.as_double();
    if (field.number == 7) column.last = field.as_double();
    if (field.number == 8) column.nan_count = field.value;
    if (field.number == 9) {
      HEADRACE_TRY(levels.emplace_back(), parse_piece(field.bytes));
    }
    if (field.number == 10) column.not_finite = field.value;
    if (field.number == 11) column.last_level.assign(field.bytes.begin(), field.bytes.end());
  }
  const bool is_right = !column.name.empty() && column.name.size() <= kMetricNameBytes &&
                        column.axis < footer.axes.size() && (column.width == 4 || column.width == 8);
  if (reader.malformed() || !is_right) return damaged_footer("a column of its footer");
  const std::uint64_t points = footer.axes[column.axis].points;
  if (footer.version == 1) {
    if (column.values.size() != 1 || levels.size() > kMostLevels)
      return damaged_footer("the pieces of a column");
    for (const SegmentPiece& piece : levels) column.levels.push_back({piece});
  } else if (column.values.size() != pieces_of(points) || column.not_finite > points ||
             !sort_levels(column, std::move(levels), points)) {
    return damaged_footer("the pieces of a column");
  }
  return column;
}

// Readers hold samples of the axes that columns name: without a bound, a small segment could take gigabytes.
Status check_axes(const SegmentFooter& footer) {
  std::uint64_t points = 0;
  for (const SegmentAxis& axis : footer.axes) points += axis.points;
  if (points > kMostSegmentPoints) return damaged_footer("more points than a segment can have");
  std::vector<bool> is_named(footer.axes.size());
  for (const SegmentColumn& column : footer.columns) is_named[column.axis] = true;
  if (std::find(is_named.begin(), is_named.end(), false) != is_named.end())
    return damaged_footer("an axis that no column names");
  return {};
}

}  // namespace

Bytes encode_footer(const SegmentFooter& footer) {
  Bytes out;
  WireWriter writer(out);
  write_head(writer, footer.head);
  for (const SegmentAxis& axis : footer.axes) {
    writer.message(8, [&](WireWriter& message) {
      message.varint(1, axis.points);
      message.varint(4, zigzag(axis.last_step));
      write_numbers(message, 5, axis.steps);
      write_numbers(message, 6, axis.times_us);
    });
  }
  for (const SegmentColumn& column : footer.columns)
    writer.message(9, [&](WireWriter& message) { write_column(message, column); });
  return out;
}

Result<SegmentFooter> parse_footer(BytesView message) {
  SegmentFooter footer;
  SegmentHead& head = footer.head;
  std::uint64_t& version = footer.version = 0;
  WireReader reader(message);
  for (WireField field; reader.next(field);) {
    const Bytes bytes(field.bytes.begin(),
                      field.bytes.begin() + (field.bytes.size() == kDigestBytes ? kDigestBytes : 0));
    if (field.number == 1) version = field.value;
    if (version > kSegmentVersion)
      return Error{Code::kFailedPrecondition,
                   concat("the segment has version ", version, "; this Headrace reads up to ",
                          kSegmentVersion, ": install a newer one")};
    if (field.number == 2) head.first = field.value;
    if (field.number == 3) head.last = field.value;
    if (field.number == 4) head.previous = bytes;
    if (field.number == 5) head.points_digest = bytes;
    if (field.number == 6) head.from_step = unzigzag(field.value);
    if (field.number == 7) head.is_end = field.value != 0;
    if (field.number == 10) head.last_digest = bytes;
    if (version == 0) return damaged_footer("its footer");
    if (field.number == 8) {
      HEADRACE_TRY(footer.axes.emplace_back(), parse_axis(field.bytes, version));
    }
    if (field.number == 9) {
      HEADRACE_TRY(footer.columns.emplace_back(), parse_column(field.bytes, footer));
    }
  }
  if (reader.malformed() || version == 0 || head.last < head.first) return damaged_footer("its footer");
  HEADRACE_CHECK(check_axes(footer));
  return footer;
}

}  // namespace headrace
