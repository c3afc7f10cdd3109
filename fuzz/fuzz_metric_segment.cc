#include <bit>
#include <cstdlib>

#include "headrace/base/crc32c.h"
#include "headrace/metrics/chart.h"
#include "headrace/metrics/segment.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

std::uint64_t points_of(const SegmentFooter& footer) {
  std::uint64_t points = 0;
  for (const SegmentColumn& column : footer.columns) points += footer.axes[column.axis].points;
  return points;
}

// A log of this one segment: no point is drawn twice.
void chart_all(const Bytes& segment, const SegmentFooter& footer) {
  const std::shared_ptr<Store> store = make_memory_store("fuzz");
  const Location log{store, "log", {"memory", "fuzz", "log"}};
  static_cast<void>(store->write(log.at(segment_name(0, footer.head.last)).key, segment, {}));
  auto opened = MetricLog::open(log, {});
  if (!opened) return;
  std::vector<PartLog> parts;
  parts.push_back({0, *std::move(opened)});
  const RunMetrics run(std::move(parts));
  for (const ChartAxis axis : {ChartAxis::kStep, ChartAxis::kTime}) {
    const ChartOptions options{.axis = axis, .columns = 7};
    std::vector<ChartSeries> series;
    for (const auto& metric : run.series()) series.push_back({&run, metric.first, metric.second, {}});
    const auto ranges = chart_ranges(series, options);
    if (!ranges) continue;
    for (std::size_t i = 0; i < series.size(); ++i) series[i].range = (*ranges)[i].value_or(ChartRange());
    const auto charts = chart_columns(series, options);
    if (!charts) continue;
    std::uint64_t drawn = 0;
    for (const auto& columns : *charts) {
      for (const ChartColumn& column : columns) drawn += column.finite + column.not_finite;
    }
    if (drawn > points_of(footer)) std::abort();
  }
}

void read_all(const Bytes& segment) {
  const ReadSegment read = read_from(segment);
  const auto footer = read_footer(read, segment.size());
  if (!footer) return;
  for (const SegmentAxis& axis : footer->axes) {
    static_cast<void>(read_axis(read, axis));
    for (const AxisNumbers* const numbers : {&axis.steps, &axis.times_us})
      static_cast<void>(read_samples(read, axis, *numbers));
  }
  for (const SegmentColumn& column : footer->columns) {
    const auto values = read_values(read, *footer, column);
    if (values && values->size() != footer->axes[column.axis].points) std::abort();
    if (footer->version == 1) continue;
    for (std::size_t level = 0; level < level_count(footer->axes[column.axis].points); ++level)
      static_cast<void>(read_level(read, *footer, column, level));
  }
  if (footer->head.first == 0) chart_all(segment, *footer);
}

// The input is a footer whose checksum is right.
void read_as_footer(BytesView input) {
  Bytes segment(input.begin(), input.end());
  append_little_endian(segment, static_cast<std::uint32_t>(input.size()));
  append_little_endian(segment, crc32c(input));
  append(segment, as_bytes("HRMETRIC"));
  read_all(segment);
}

// The input is points, which come back.
void write_and_read(BytesView input) {
  std::vector<MetricPoint> points;
  for (std::size_t at = 0; at + 17 <= input.size(); at += 17) {
    const std::byte* const bytes = input.data() + at;
    points.push_back({std::to_integer<std::uint32_t>(bytes[0]) % 3,
                      load_little_endian<std::int64_t>(bytes + 1), static_cast<std::int64_t>(at),
                      load_little_endian<double>(bytes + 9)});
  }
  const std::vector<std::string> names = {"a", "b", "c"};
  const Bytes segment = encode_segment({}, names, points);
  const ReadSegment read = read_from(segment);
  const auto footer = read_footer(read, segment.size());
  if (!footer) std::abort();
  std::size_t found = 0;
  for (const SegmentColumn& column : footer->columns) {
    const auto axis = read_axis(read, footer->axes[column.axis]);
    const auto values = read_values(read, *footer, column);
    if (!axis || !values) std::abort();
    std::size_t next = 0;
    for (const MetricPoint& point : points) {
      if (names[point.metric] != column.name) continue;
      if (axis->steps[next] != point.step || axis->times_us[next] != point.time_us) std::abort();
      if (std::bit_cast<std::uint64_t>((*values)[next]) != std::bit_cast<std::uint64_t>(point.value))
        std::abort();
      ++next;
    }
    found += next;
  }
  if (found != points.size()) std::abort();
  chart_all(segment, *footer);
}

}  // namespace
}  // namespace headrace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const headrace::BytesView input(reinterpret_cast<const std::byte*>(data), size);
  headrace::read_all(headrace::Bytes(input.begin(), input.end()));
  headrace::read_as_footer(input);
  headrace::write_and_read(input);
  return 0;
}
