#include "headrace/metrics/chart.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/metrics/chart_plan.h"
#include "headrace/metrics/piece_batch.h"
#include "headrace/metrics/segment_footer.h"
#include "headrace/os/parallel.h"

namespace headrace {

namespace {

constexpr std::uint64_t kMostBatchBytes = 64 << 20;
constexpr std::uint64_t kMostNumberBytes = 10;  // of a varint
constexpr int kRefreshedAgain = 3;

const AxisNumbers& numbers_on(ChartAxis axis, const SegmentAxis& of) {
  return axis == ChartAxis::kStep ? of.steps : of.times_us;
}

using Samples = std::shared_ptr<const std::vector<std::int64_t>>;
using Runs = std::shared_ptr<const std::vector<ChartRun>>;

/// A column of a segment, and which of its groups and points are read.
struct ChartPart {
  SeriesColumn source;
  std::size_t series = 0;
  Samples samples{};  // of its axis, if it needs them
  Runs runs{};
  // Points outside do not count.
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool cuts_steps = false;  // points count only if their steps are before source.end_step

  const SegmentFooter& footer() const { return source.segment->footer; }
  const std::string& key() const { return source.segment->stored.key; }
  Store& store() const { return *source.log->location().store; }
  std::uint64_t points() const { return source.axis().points; }
  std::uint64_t points_per_piece() const {
    return footer().version == 1 ? kMostAxisPoints : kEntriesPerPiece;
  }
};

/// Calls `visit(piece, begin, end)`: entries `begin` to `end` lie in that piece, or a part of it does.
template <typename Visit>
Status for_each_piece(const ChartRun& run, std::uint64_t per_piece, Visit visit) {
  for (std::uint64_t piece = run.begin / per_piece; piece * per_piece < run.end; ++piece) {
    HEADRACE_CHECK(
        visit(piece, std::max(run.begin, piece * per_piece), std::min(run.end, (piece + 1) * per_piece)));
  }
  return {};
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
    HEADRACE_CHECK(read_samples_of_parts());
    plan_parts();
    for (std::size_t begin = 0; begin < parts_.size();) {
      PieceBatch batch;
      std::size_t end = begin;
      while (end < parts_.size() && (end == begin || batch.size_bytes() < kMostBatchBytes))
        add_pieces(parts_[end++], batch);
      HEADRACE_CHECK(read_batch(batch));
      HEADRACE_CHECK(show_parts(static_cast<std::ptrdiff_t>(begin), static_cast<std::ptrdiff_t>(end), batch));
      begin = end;
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
  bool is_ascending(const ChartPart& part) const {
    return part.footer().version > 1 && (numbers(part).distance || numbers(part).samples);
  }

  Status read_batch(PieceBatch& batch) {
    HEADRACE_CHECK(batch.read(options_.call));
    cost_.bytes += batch.read_bytes();
    cost_.requests += batch.requests();
    if (batch.requests() > 0) ++cost_.rounds;
    return {};
  }

  void find_parts(std::size_t index) {
    const ChartSeries& series = series_[index];
    const std::vector<SeriesColumn> columns = series.metrics->columns(series.name, series.rank);
    if (columns.empty()) show_events(series, charts_[index]);
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

  // Several series may share an axis.
  Status read_samples_of_parts() {
    PieceBatch batch;
    std::map<const AxisNumbers*, Samples> read;
    for (const ChartPart& part : parts_) {
      const AxisNumbers& x = numbers(part);
      if (part.footer().version == 1 || !x.samples || part.cuts_steps) continue;
      batch.add(part.store(), part.key(), *x.samples, groups_in_level(part.points(), 0) * kMostNumberBytes);
      read[&x] = nullptr;
    }
    HEADRACE_CHECK(read_batch(batch));
    for (ChartPart& part : parts_) {
      const auto found = read.find(&numbers(part));
      if (found == read.end()) continue;
      if (!found->second) {
        const AxisNumbers& x = numbers(part);
        HEADRACE_TRY(const Bytes raw, batch.piece(part.store(), part.key(), *x.samples));
        HEADRACE_TRY(std::vector<std::int64_t> samples,
                     decode_integers(raw, groups_in_level(part.points(), 0)));
        found->second = std::make_shared<const std::vector<std::int64_t>>(std::move(samples));
      }
      part.samples = found->second;
    }
    return {};
  }

  // Series that share an axis and a range share their plan.
  void plan_parts() {
    std::map<std::tuple<const AxisNumbers*, std::int64_t, std::int64_t, std::uint64_t>, Runs> plans;
    for (ChartPart& part : parts_) {
      if (part.cuts_steps || !is_ascending(part)) {
        part.runs = std::make_shared<std::vector<ChartRun>>(1, ChartRun{.begin = 0, .end = part.points()});
        continue;
      }
      const std::uint64_t width = charts_[part.series].narrowest();
      Runs& runs = plans[{&numbers(part), part.first, part.last, width}];
      if (!runs) {
        runs =
            std::make_shared<std::vector<ChartRun>>(plan_chart(axis_of(part), part.first, part.last, width));
      }
      part.runs = runs;
    }
  }

  AscendingAxis axis_of(const ChartPart& part) const {
    const std::span<const std::int64_t> samples =
        part.samples ? std::span<const std::int64_t>(*part.samples) : std::span<const std::int64_t>();
    return {numbers(part), part.points(), samples};
  }

  void add_pieces(const ChartPart& part, PieceBatch& batch) const {
    const SegmentColumn& column = *part.source.column;
    for (const ChartRun& run : *part.runs) {
      if (run.level == column.levels.size() && run.level) continue;  // is in the footer
      const std::uint64_t per_piece = run.level ? kEntriesPerPiece : part.points_per_piece();
      const std::uint64_t entries = run.level ? groups_in_level(part.points(), *run.level) : part.points();
      const auto add = [&](const SegmentPiece& piece, std::uint64_t most_bytes) {
        batch.add(part.store(), part.key(), piece, most_bytes);
      };
      for (std::uint64_t i = run.begin / per_piece; i * per_piece < run.end; ++i) {
        const std::uint64_t count = std::min(per_piece, entries - i * per_piece);
        if (run.level) {
          add(column.levels[*run.level][i], most_group_bytes(column, count));
          continue;
        }
        add(column.values[i], most_value_bytes(column, count));
        if (!numbers(part).distance) add(numbers(part).pieces[i], count * kMostNumberBytes);
        if (part.cuts_steps && !part.source.axis().steps.distance)
          add(part.source.axis().steps.pieces[i], count * kMostNumberBytes);
      }
    }
  }

  // Parts of a series are shown in their order.
  Status show_parts(std::ptrdiff_t begin, std::ptrdiff_t end, const PieceBatch& batch) {
    const std::size_t first = parts_[static_cast<std::size_t>(begin)].series;
    const std::size_t count = parts_[static_cast<std::size_t>(end) - 1].series + 1 - first;
    return parallel_for(options_.threads, count, [&](std::size_t i) -> Status {
      auto part = std::partition_point(parts_.begin() + begin, parts_.begin() + end,
                                       [&](const ChartPart& other) { return other.series < first + i; });
      for (; part != parts_.begin() + end && part->series == first + i; ++part)
        HEADRACE_CHECK(show_part(*part, batch));
      return {};
    });
  }

  Status show_part(const ChartPart& part, const PieceBatch& batch) {
    for (const ChartRun& run : *part.runs) HEADRACE_CHECK(show_run(part, run, batch));
    return {};
  }

  Status show_run(const ChartPart& part, const ChartRun& run, const PieceBatch& batch) {
    if (run.level) return show_groups(part, run, batch);
    return for_each_piece(run, part.points_per_piece(),
                          [&](std::uint64_t piece, std::uint64_t begin, std::uint64_t end) {
                            return show_points(part, piece, begin, end, batch);
                          });
  }

  Status show_groups(const ChartPart& part, const ChartRun& run, const PieceBatch& batch) {
    const SegmentColumn& column = *part.source.column;
    const std::uint64_t entries = groups_in_level(part.points(), *run.level);
    return for_each_piece(
        run, kEntriesPerPiece, [&](std::uint64_t piece, std::uint64_t begin, std::uint64_t end) -> Status {
          const std::uint64_t before = piece * kEntriesPerPiece;
          const std::uint64_t count = std::min(kEntriesPerPiece, entries - before);
          Bytes raw;
          if (*run.level < column.levels.size()) {
            HEADRACE_TRY(raw, batch.piece(part.store(), part.key(), column.levels[*run.level][piece]));
          }
          const bool is_last = *run.level == column.levels.size();
          HEADRACE_TRY(const LevelGroups groups, is_last ? decode_last_level(column.last_level, column, count)
                                                         : decode_groups(raw, column, count));
          add_groups(part, *run.level, groups, before, begin, end);
          return {};
        });
  }

  void add_groups(const ChartPart& part, std::size_t level, const LevelGroups& groups, std::uint64_t before,
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

  // Points `begin` to `end` of a piece.
  Status show_points(const ChartPart& part, std::uint64_t piece, std::uint64_t begin, std::uint64_t end,
                     const PieceBatch& batch) {
    const SegmentColumn& column = *part.source.column;
    const std::uint64_t before = piece * part.points_per_piece();
    const std::uint64_t count = std::min(part.points_per_piece(), part.points() - before);
    HEADRACE_TRY(const Bytes raw, batch.piece(part.store(), part.key(), column.values[piece]));
    HEADRACE_TRY(const std::vector<double> values, decode_piece_values(raw, part.footer(), column, count));
    const auto some = std::span(values).subspan(begin - before, end - begin);
    const AxisNumbers& x = numbers(part);
    if (x.distance && !part.cuts_steps) {
      add_regular(part, x, begin, some);
      return {};
    }
    HEADRACE_TRY(const std::vector<std::int64_t> all_x,
                 numbers_of_piece(part, x, piece, before, count, batch));
    std::vector<std::int64_t> steps;
    if (part.cuts_steps) {
      HEADRACE_TRY(steps, numbers_of_piece(part, part.source.axis().steps, piece, before, count, batch));
    }
    for (std::size_t i = begin - before; i < end - before; ++i) {
      if (all_x[i] < part.first || all_x[i] > part.last) continue;
      if (part.cuts_steps && steps[i] >= *part.source.end_step) continue;
      charts_[part.series].add(all_x[i], values[i]);
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
    HEADRACE_TRY(const Bytes raw, batch.piece(part.store(), part.key(), numbers.pieces[piece]));
    return decode_integers(raw, count);
  }

  // Point `begin` and those after it.
  void add_regular(const ChartPart& part, const AxisNumbers& x, std::uint64_t begin,
                   std::span<const double> values) {
    const AscendingAxis axis(x, part.points());
    std::uint64_t from = 0;
    std::uint64_t count = values.size();
    const std::int64_t low = axis.at(begin);
    const auto distance_to = [&](std::int64_t place) {
      return static_cast<std::uint64_t>(place) - static_cast<std::uint64_t>(low);
    };
    if (low > part.last) return;
    if (*x.distance > 0) {
      if (low < part.first) from = (distance_to(part.first) + *x.distance - 1) / *x.distance;
      count = std::min(count, distance_to(part.last) / *x.distance + 1);
    } else if (low < part.first) {
      return;
    }
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

// For a segment of version 1, whose footer does not tell.
Status include_points(const SeriesColumn& column, const ChartOptions& options,
                      std::optional<ChartRange>& range) {
  const Location& log = column.log->location();
  const std::string& key = column.segment->stored.key;
  PieceBatch batch;
  const SegmentPiece& piece = numbers_on(options.axis, column.axis()).pieces.front();
  batch.add(*log.store, key, piece, column.axis().points * kMostNumberBytes);
  HEADRACE_CHECK(batch.read(options.call));
  HEADRACE_TRY(const Bytes raw, batch.piece(*log.store, key, piece));
  HEADRACE_TRY(const std::vector<std::int64_t> numbers, decode_integers(raw, column.axis().points));
  for (const std::int64_t x : numbers) {
    if (options.axis == ChartAxis::kStep && column.end_step && x >= *column.end_step) continue;
    include(range, x, x);
  }
  return {};
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

}  // namespace

Result<std::optional<ChartRange>> chart_range(const ChartSeries& series, const ChartOptions& options) {
  std::optional<ChartRange> range;
  const std::vector<SeriesColumn> columns = series.metrics->columns(series.name, series.rank);
  for (const SeriesColumn& column : columns) {
    if (column.segment->footer.version == 1) {
      HEADRACE_CHECK(include_points(column, options, range));
      continue;
    }
    const SegmentAxis& axis = column.axis();
    if (column.end_step && axis.steps.minimum >= *column.end_step) continue;
    const AxisNumbers& x = numbers_on(options.axis, axis);
    const bool is_cut = options.axis == ChartAxis::kStep && column.end_step;
    include(range, x.minimum, is_cut ? std::min(x.maximum, *column.end_step - 1) : x.maximum);
  }
  if (!columns.empty()) return range;
  const MetricSeries events = series.metrics->read_events(series.name, series.rank);
  for (const std::int64_t x : options.axis == ChartAxis::kStep ? events.steps : events.times_us)
    include(range, x, x);
  return range;
}

Result<std::vector<std::vector<ChartColumn>>> chart_columns(std::span<const ChartSeries> series,
                                                            const ChartOptions& options, ChartCost* cost) {
  auto charts = read_charts(series, options, cost);
  for (int i = 0; i < kRefreshedAgain && !charts && charts.error().code == Code::kNotFound; ++i) {
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
    charts = read_charts(again, options, cost);
  }
  return charts;
}

}  // namespace headrace
