#include "headrace/metrics/chart.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/metrics/chart_plan.h"
#include "headrace/metrics/piece_batch.h"
#include "headrace/metrics/segment_footer.h"
#include "headrace/os/parallel.h"

namespace headrace {

namespace {

constexpr std::uint64_t kMostBatchBytes = 64 << 20;
constexpr int kRefreshedAgain = 3;

const AxisNumbers& numbers_on(ChartAxis axis, const SegmentAxis& of) {
  return axis == ChartAxis::kStep ? of.steps : of.times_us;
}

using Samples = std::shared_ptr<const std::vector<std::int64_t>>;
using Runs = std::shared_ptr<const std::vector<ChartRun>>;
// Parts with the same axis, range and width of columns share a plan.
using PlanKey = std::tuple<const AxisNumbers*, std::int64_t, std::int64_t, std::uint64_t>;

/// A column of a segment, and which of its groups and points are read.
struct ChartPart {
  SeriesColumn source;
  std::size_t series = 0;
  Samples samples{};  // of its axis, if the part needs them
  Runs runs{};
  // Points outside this range do not count.
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool cuts_steps = false;  // points count only if their steps are before source.end_step

  const SegmentFooter& footer() const { return source.segment->footer; }
  const std::string& key() const { return source.segment->stored.key; }
  Store& store() const { return *source.log->location().store; }
  std::uint64_t points() const { return source.axis().points; }
};

/// Entries `begin` to `end`, which lie in one piece.
struct PieceRun {
  std::uint64_t piece = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::vector<PieceRun> split_run(const ChartRun& run, std::uint64_t per_piece) {
  std::vector<PieceRun> split;
  for (std::uint64_t piece = run.begin / per_piece; piece * per_piece < run.end; ++piece)
    split.push_back({.piece = piece,
                     .begin = std::max(run.begin, piece * per_piece),
                     .end = std::min(run.end, (piece + 1) * per_piece)});
  return split;
}

/// The pieces that were decoded last: runs of a part alternate between levels, and share pieces. Other parts
/// reuse the memory.
struct DecodedPieces {
  std::optional<std::uint64_t> points{};  // the piece that the following members come from
  std::vector<double> values{};
  std::vector<std::int64_t> x{};      // unused if they are regular and all points count
  std::vector<std::int64_t> steps{};  // used only if they decide which points count
  struct Level {
    std::optional<std::uint64_t> piece{};
    std::vector<double> values{};
    GroupViews groups{};  // views of `values`
  };
  std::map<std::size_t, Level> levels{};

  void forget() {
    points.reset();
    for (auto& [number, level] : levels) level.piece.reset();
  }
};

// Segments of version 1 do not give the range of their steps, so they may always have points.
bool may_have_points(std::span<const SeriesColumn> columns) {
  return std::ranges::any_of(columns, [](const SeriesColumn& column) {
    return column.segment->footer.version == 1 || !column.end_step ||
           column.axis().steps.minimum < *column.end_step;
  });
}

bool is_ascending(const SegmentFooter& footer, const AxisNumbers& numbers) {
  return footer.version > 1 && (numbers.distance || numbers.samples);
}

/// Reads the parts of several series.
class ChartReader {
 public:
  ChartReader(std::span<const ChartSeries> series, const ChartOptions& options)
      : series_(series), options_(options) {
    for (const ChartSeries& each : series)
      charts_.emplace_back(each.range.first, each.range.last, options.columns);
  }

  Status read() {
    for (std::size_t i = 0; i < series_.size(); ++i) find_parts(i);
    for (std::size_t begin = 0; begin < parts_.size();) {
      const std::span<ChartPart> group = next_group(begin);
      HEADRACE_CHECK(read_samples(group));
      plan(group);
      HEADRACE_CHECK(read_and_show(group));
      for (ChartPart& part : group) part = {};
      begin += group.size();
    }
    return {};
  }

  std::vector<std::vector<ChartColumn>> take_columns() {
    std::vector<std::vector<ChartColumn>> all;
    for (ChartColumns& chart : charts_) all.push_back(chart.take_columns());
    return all;
  }
  const ChartCost& cost() const { return cost_; }

 private:
  const AxisNumbers& numbers(const ChartPart& part) const {
    return numbers_on(options_.axis, part.source.axis());
  }
  bool needs_samples(const ChartPart& part) const {
    return part.footer().version > 1 && numbers(part).samples && !part.cuts_steps;
  }
  PlanKey plan_key(const ChartPart& part) const {
    return {&numbers(part), part.first, part.last, charts_[part.series].narrowest()};
  }

  Status read_batch(PieceBatch& batch) {
    HEADRACE_CHECK(batch.read(options_.call, options_.threads));
    cost_.bytes += batch.read_bytes();
    cost_.requests += batch.requests();
    if (batch.requests() > 0) ++cost_.rounds;
    return {};
  }

  void find_parts(std::size_t index) {
    const ChartSeries& series = series_[index];
    const std::vector<SeriesColumn> columns = series.metrics->columns(series.name, series.rank);
    if (!may_have_points(columns)) {
      show_events(series, charts_[index]);
      return;
    }
    for (const SeriesColumn& column : columns) {
      ChartPart part{
          .source = column, .series = index, .first = series.range.first, .last = series.range.last};
      const SegmentAxis& axis = column.axis();
      const bool is_known = part.footer().version > 1;
      if (column.end_step) {
        if (is_known && axis.steps.minimum >= *column.end_step) continue;
        part.cuts_steps = !is_known || axis.steps.maximum >= *column.end_step;
      }
      if (part.cuts_steps && options_.axis == ChartAxis::kStep) {
        if (*column.end_step <= part.first) continue;
        part.last = std::min(part.last, *column.end_step - 1);
        part.cuts_steps = false;
      }
      const AxisNumbers& x = numbers(part);
      if (is_known && (x.maximum < part.first || x.minimum > part.last)) continue;
      parts_.push_back(std::move(part));
    }
  }

  void show_events(const ChartSeries& series, ChartColumns& chart) const {
    const MetricSeries points = series.metrics->read_events(series.name, series.rank);
    const auto& x = options_.axis == ChartAxis::kStep ? points.steps : points.times_us;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] >= series.range.first && x[i] <= series.range.last) chart.add(x[i], points.values[i]);
    }
  }

  // The parts from `begin` on whose samples and plans are in memory at the same time.
  std::span<ChartPart> next_group(std::size_t begin) {
    std::set<PlanKey> seen;
    std::uint64_t held = 0;
    std::size_t end = begin;
    for (; end < parts_.size(); ++end) {
      const ChartPart& part = parts_[end];
      if (!needs_samples(part) || !seen.insert(plan_key(part)).second) continue;
      held += groups_in_level(part.points(), 0);
      if (held > options_.most_samples && end > begin) break;
    }
    return std::span(parts_).subspan(begin, end - begin);
  }

  // Several series may share an axis.
  Status read_samples(std::span<ChartPart> parts) {
    PieceBatch batch;
    std::map<const AxisNumbers*, Samples> read;
    for (const ChartPart& part : parts) {
      if (!needs_samples(part)) continue;
      batch.add(part.store(), part.key(), *numbers(part).samples,
                groups_in_level(part.points(), 0) * kMostVarintBytes);
    }
    HEADRACE_CHECK(read_batch(batch));
    for (ChartPart& part : parts) {
      if (!needs_samples(part)) continue;
      const AxisNumbers& x = numbers(part);
      Samples& samples = read[&x];
      if (!samples) {
        Bytes decompressed;
        HEADRACE_TRY(const BytesView raw, batch.piece(part.store(), part.key(), *x.samples, decompressed));
        HEADRACE_TRY(std::vector<std::int64_t> decoded,
                     decode_integers(raw, groups_in_level(part.points(), 0)));
        samples = std::make_shared<const std::vector<std::int64_t>>(std::move(decoded));
      }
      part.samples = samples;
    }
    return {};
  }

  void plan(std::span<ChartPart> parts) const {
    std::map<PlanKey, Runs> plans;
    for (ChartPart& part : parts) {
      if (part.cuts_steps || !is_ascending(part.footer(), numbers(part))) {
        part.runs = std::make_shared<std::vector<ChartRun>>(1, ChartRun{.begin = 0, .end = part.points()});
        continue;
      }
      const std::uint64_t width = charts_[part.series].narrowest();
      Runs& runs = plans[plan_key(part)];
      if (!runs) {
        runs =
            std::make_shared<std::vector<ChartRun>>(plan_chart(axis_of(part), part.first, part.last, width));
      }
      part.runs = runs;
    }
  }

  Status read_and_show(std::span<const ChartPart> parts) {
    while (!parts.empty()) {
      PieceBatch batch;
      std::size_t count = 0;
      while (count < parts.size() && (count == 0 || batch.size_bytes() < kMostBatchBytes))
        add_pieces(parts[count++], batch);
      HEADRACE_CHECK(read_batch(batch));
      HEADRACE_CHECK(show_parts(parts.first(count), batch));
      parts = parts.subspan(count);
    }
    return {};
  }

  AscendingAxis axis_of(const ChartPart& part) const {
    const std::span<const std::int64_t> samples =
        part.samples ? std::span<const std::int64_t>(*part.samples) : std::span<const std::int64_t>();
    return {numbers(part), part.points(), samples};
  }

  static std::uint64_t per_piece_of(const ChartPart& part, const ChartRun& run) {
    return run.level ? kEntriesPerPiece : points_per_piece(part.footer());
  }

  void add_pieces(const ChartPart& part, PieceBatch& batch) const {
    const SegmentColumn& column = *part.source.column;
    for (const ChartRun& run : *part.runs) {
      if (run.level == column.levels.size() && run.level) continue;  // the footer holds this level
      const std::uint64_t per_piece = per_piece_of(part, run);
      const std::uint64_t entries = run.level ? groups_in_level(part.points(), *run.level) : part.points();
      const auto add = [&](const SegmentPiece& piece, std::uint64_t most_bytes) {
        batch.add(part.store(), part.key(), piece, most_bytes);
      };
      for (const PieceRun& some : split_run(run, per_piece)) {
        const std::uint64_t count = std::min(per_piece, entries - some.piece * per_piece);
        if (run.level) {
          add(column.levels[*run.level][some.piece], most_group_bytes(column, count));
          continue;
        }
        add(column.values[some.piece], most_value_bytes(column, count));
        if (!numbers(part).distance) add(numbers(part).pieces[some.piece], count * kMostVarintBytes);
        if (part.cuts_steps && !part.source.axis().steps.distance)
          add(part.source.axis().steps.pieces[some.piece], count * kMostVarintBytes);
      }
    }
  }

  // Shows the parts of each series in order.
  Status show_parts(std::span<const ChartPart> parts, const PieceBatch& batch) {
    const std::size_t first = parts.front().series;
    return parallel_for(options_.threads, parts.back().series + 1 - first, [&](std::size_t i) -> Status {
      auto part = std::partition_point(parts.begin(), parts.end(),
                                       [&](const ChartPart& other) { return other.series < first + i; });
      DecodedPieces decoded;
      for (; part != parts.end() && part->series == first + i; ++part) {
        HEADRACE_CHECK(show_part(*part, batch, decoded));
        decoded.forget();
      }
      return {};
    });
  }

  Status show_part(const ChartPart& part, const PieceBatch& batch, DecodedPieces& decoded) {
    for (const ChartRun& run : *part.runs) {
      for (const PieceRun& some : split_run(run, per_piece_of(part, run)))
        HEADRACE_CHECK(run.level ? show_groups(part, *run.level, some, batch, decoded)
                                 : show_points(part, some, batch, decoded));
    }
    return {};
  }

  Status show_groups(const ChartPart& part, std::size_t level, const PieceRun& run, const PieceBatch& batch,
                     DecodedPieces& decoded) {
    const SegmentColumn& column = *part.source.column;
    const std::uint64_t before = run.piece * kEntriesPerPiece;
    DecodedPieces::Level& held = decoded.levels[level];
    if (held.piece != run.piece) {
      const std::uint64_t count = std::min(kEntriesPerPiece, groups_in_level(part.points(), level) - before);
      if (level == column.levels.size()) {
        HEADRACE_TRY(held.groups, decode_last_level(column.last_level, column, count, held.values));
      } else {
        Bytes decompressed;
        HEADRACE_TRY(const BytesView raw,
                     batch.piece(part.store(), part.key(), column.levels[level][run.piece], decompressed));
        HEADRACE_TRY(held.groups, decode_groups(raw, column, count, held.values));
      }
      held.piece = run.piece;
    }
    std::uint64_t begin = run.begin;
    if (numbers(part).distance && held.groups.not_finite.empty())
      begin = add_regular_groups(part, level, held.groups, before, run);
    add_groups(part, level, held.groups, before, begin, run.end);
    return {};
  }

  // Adds the full groups, and returns where the others begin.
  std::uint64_t add_regular_groups(const ChartPart& part, std::size_t level, const GroupViews& groups,
                                   std::uint64_t before, const PieceRun& run) {
    const std::uint64_t size = points_per_group(level);
    const std::uint64_t end = std::max(run.begin, std::min(run.end, part.points() / size));
    const auto some = [&](std::span<const double> values) {
      return values.subspan(run.begin - before, end - run.begin);
    };
    charts_[part.series].add_regular_groups(axis_of(part).at(run.begin * size),
                                            *numbers(part).distance * size,
                                            {.minima = some(groups.minima),
                                             .maxima = some(groups.maxima),
                                             .lasts = some(groups.lasts),
                                             .points_each = size});
    return end;
  }

  void add_groups(const ChartPart& part, std::size_t level, const GroupViews& groups, std::uint64_t before,
                  std::uint64_t begin, std::uint64_t end) {
    const AscendingAxis axis = axis_of(part);
    const std::uint64_t size = points_per_group(level);
    for (std::uint64_t group = begin; group < end; ++group) {
      const std::size_t i = group - before;
      const std::uint64_t points = std::min(size, part.points() - group * size);
      const double lost = groups.not_finite.empty() ? 0 : groups.not_finite[i];
      const auto not_finite =
          lost > 0 && lost <= static_cast<double>(points) ? static_cast<std::uint64_t>(lost) : 0;
      charts_[part.series].add_group(axis.at(group * size), {.minimum = groups.minima[i],
                                                             .maximum = groups.maxima[i],
                                                             .last = groups.lasts[i],
                                                             .finite = points - not_finite,
                                                             .not_finite = not_finite});
    }
  }

  bool is_regular(const ChartPart& part) const { return numbers(part).distance && !part.cuts_steps; }

  Status decode_points(const ChartPart& part, std::uint64_t piece, const PieceBatch& batch,
                       DecodedPieces& decoded) const {
    if (decoded.points == piece) return {};
    const SegmentColumn& column = *part.source.column;
    const std::uint64_t per_piece = points_per_piece(part.footer());
    const std::uint64_t before = piece * per_piece;
    const std::uint64_t count = std::min(per_piece, part.points() - before);
    decoded.points.reset();
    Bytes decompressed;
    HEADRACE_TRY(const BytesView raw,
                 batch.piece(part.store(), part.key(), column.values[piece], decompressed));
    HEADRACE_CHECK(decode_piece_values(raw, part.footer(), column, count, decoded.values));
    if (!is_regular(part)) {
      HEADRACE_TRY(decoded.x, numbers_of_piece(part, numbers(part), piece, before, count, batch));
    }
    if (part.cuts_steps) {
      HEADRACE_TRY(decoded.steps,
                   numbers_of_piece(part, part.source.axis().steps, piece, before, count, batch));
    }
    decoded.points = piece;
    return {};
  }

  Status show_points(const ChartPart& part, const PieceRun& run, const PieceBatch& batch,
                     DecodedPieces& decoded) {
    HEADRACE_CHECK(decode_points(part, run.piece, batch, decoded));
    const std::uint64_t before = run.piece * points_per_piece(part.footer());
    if (is_regular(part)) {
      const auto some = std::span(decoded.values).subspan(run.begin - before, run.end - run.begin);
      add_regular(part, numbers(part), run.begin, some);
      return {};
    }
    for (std::size_t i = run.begin - before; i < run.end - before; ++i) {
      if (decoded.x[i] < part.first || decoded.x[i] > part.last) continue;
      if (part.cuts_steps && decoded.steps[i] >= *part.source.end_step) continue;
      charts_[part.series].add(decoded.x[i], decoded.values[i]);
    }
    return {};
  }

  Result<std::vector<std::int64_t>> numbers_of_piece(const ChartPart& part, const AxisNumbers& numbers,
                                                     std::uint64_t piece, std::uint64_t before,
                                                     std::uint64_t count, const PieceBatch& batch) const {
    if (numbers.distance) {
      const AscendingAxis axis(numbers, part.points());
      std::vector<std::int64_t> all(count);
      for (std::uint64_t i = 0; i < count; ++i) all[i] = axis.at(before + i);
      return all;
    }
    Bytes decompressed;
    HEADRACE_TRY(const BytesView raw,
                 batch.piece(part.store(), part.key(), numbers.pieces[piece], decompressed));
    return decode_integers(raw, count);
  }

  // Adds point `begin` and the points after it.
  void add_regular(const ChartPart& part, const AxisNumbers& x, std::uint64_t begin,
                   std::span<const double> values) {
    const AscendingAxis axis(x, part.points());
    const std::int64_t low = axis.at(begin);
    const auto distance_to = [&](std::int64_t place) {
      return static_cast<std::uint64_t>(place) - static_cast<std::uint64_t>(low);
    };
    if (low > part.last) return;
    const std::uint64_t from =
        low < part.first ? regular_within(*x.distance, distance_to(part.first) - 1, values.size()) : 0;
    const std::uint64_t count = regular_within(*x.distance, distance_to(part.last), values.size());
    if (from >= count) return;
    charts_[part.series].add_regular(axis.at(begin + from), *x.distance, values.subspan(from, count - from),
                                     part.source.column->not_finite == 0 && part.footer().version > 1);
  }

  std::span<const ChartSeries> series_;
  const ChartOptions& options_;
  std::vector<ChartColumns> charts_;
  std::vector<ChartPart> parts_;
  ChartCost cost_;
};

void include(std::optional<ChartRange>& range, std::int64_t first, std::int64_t last) {
  if (!range) range = {first, last};
  range->first = std::min(range->first, first);
  range->last = std::max(range->last, last);
}

/// A column of a segment of version 1, whose footer does not give the range of its points.
struct UnknownRange {
  std::size_t series = 0;
  SeriesColumn column;
};

Status include_points(std::span<const UnknownRange> some, const ChartOptions& options,
                      std::vector<std::optional<ChartRange>>& ranges) {
  const auto piece_of = [&](const SeriesColumn& column) -> const SegmentPiece& {
    return numbers_on(options.axis, column.axis()).pieces.front();
  };
  while (!some.empty()) {
    PieceBatch batch;
    std::size_t count = 0;
    for (; count < some.size() && (count == 0 || batch.size_bytes() < kMostBatchBytes); ++count) {
      const SeriesColumn& column = some[count].column;
      batch.add(*column.log->location().store, column.segment->stored.key, piece_of(column),
                column.axis().points * kMostVarintBytes);
    }
    HEADRACE_CHECK(batch.read(options.call, options.threads));
    for (const auto& [series, column] : some.first(count)) {
      Bytes decompressed;
      HEADRACE_TRY(const BytesView raw, batch.piece(*column.log->location().store, column.segment->stored.key,
                                                    piece_of(column), decompressed));
      HEADRACE_TRY(const std::vector<std::int64_t> numbers, decode_integers(raw, column.axis().points));
      for (const std::int64_t x : numbers) {
        if (options.axis == ChartAxis::kStep && column.end_step && x >= *column.end_step) continue;
        include(ranges[series], x, x);
      }
    }
    some = some.subspan(count);
  }
  return {};
}

Result<std::vector<std::optional<ChartRange>>> read_ranges(std::span<const ChartSeries> series,
                                                           const ChartOptions& options) {
  std::vector<std::optional<ChartRange>> ranges(series.size());
  std::vector<UnknownRange> unknown;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::vector<SeriesColumn> columns = series[i].metrics->columns(series[i].name, series[i].rank);
    for (const SeriesColumn& column : columns) {
      if (column.segment->footer.version == 1) {
        unknown.push_back({i, column});
        continue;
      }
      const SegmentAxis& axis = column.axis();
      if (column.end_step && axis.steps.minimum >= *column.end_step) continue;
      const AxisNumbers& x = numbers_on(options.axis, axis);
      const bool is_cut = options.axis == ChartAxis::kStep && column.end_step;
      include(ranges[i], x.minimum, is_cut ? std::min(x.maximum, *column.end_step - 1) : x.maximum);
    }
    if (may_have_points(columns)) continue;
    const MetricSeries events = series[i].metrics->read_events(series[i].name, series[i].rank);
    for (const std::int64_t x : options.axis == ChartAxis::kStep ? events.steps : events.times_us)
      include(ranges[i], x, x);
  }
  HEADRACE_CHECK(include_points(unknown, options, ranges));
  return ranges;
}

Result<std::vector<std::vector<ChartColumn>>> read_charts(std::span<const ChartSeries> series,
                                                          const ChartOptions& options, ChartCost* cost) {
  ChartReader reader(series, options);
  HEADRACE_CHECK(reader.read());
  if (cost) {
    cost->bytes += reader.cost().bytes;
    cost->requests += reader.cost().requests;
    cost->rounds += reader.cost().rounds;
  }
  return reader.take_columns();
}

/// The result of `read`. If a segment is gone, lists the logs of the series again: a compacted segment has
/// its points.
template <typename Read>
auto read_refreshed(std::span<const ChartSeries> series, Read read) -> decltype(read(series)) {
  auto done = read(series);
  for (int i = 0; i < kRefreshedAgain && !done && done.error().code == Code::kNotFound; ++i) {
    std::map<const RunMetrics*, RunMetrics> runs;
    std::vector<ChartSeries> again(series.begin(), series.end());
    for (ChartSeries& each : again) {
      auto run = runs.find(each.metrics);
      if (run == runs.end()) {
        HEADRACE_TRY(RunMetrics now, each.metrics->refreshed());
        run = runs.emplace(each.metrics, std::move(now)).first;
      }
      each.metrics = &run->second;
    }
    done = read(std::span<const ChartSeries>(again));
  }
  return done;
}

}  // namespace

Result<std::vector<std::optional<ChartRange>>> chart_ranges(std::span<const ChartSeries> series,
                                                            const ChartOptions& options) {
  return read_refreshed(series, [&](std::span<const ChartSeries> now) { return read_ranges(now, options); });
}

Result<std::optional<ChartRange>> chart_range(const ChartSeries& series, const ChartOptions& options) {
  HEADRACE_TRY(const auto ranges, chart_ranges({&series, 1}, options));
  return ranges.front();
}

std::uint64_t points_without_pyramid(const ChartSeries& series, ChartAxis axis) {
  std::uint64_t points = 0;
  for (const SeriesColumn& column : series.metrics->columns(series.name, series.rank)) {
    if (!is_ascending(column.segment->footer, numbers_on(axis, column.axis())))
      points += column.axis().points;
  }
  return points;
}

Result<std::vector<std::vector<ChartColumn>>> chart_columns(std::span<const ChartSeries> series,
                                                            const ChartOptions& options, ChartCost* cost) {
  return read_refreshed(series,
                        [&](std::span<const ChartSeries> now) { return read_charts(now, options, cost); });
}

}  // namespace headrace
