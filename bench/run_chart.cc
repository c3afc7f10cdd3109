/// How long does a chart of 20 series and 2,000 columns take, of so many points?
///
///   headrace_bench_run_chart write URL POINTS         writes a log: 20 metrics, compacted segments
///   headrace_bench_run_chart read URL ZOOMS THREADS   charts of random ranges, the log opened before
///   headrace_bench_run_chart cold URL ZOOMS THREADS   the same; each opens the log
///   headrace_bench_run_chart points URL               reads all points of all metrics
///
/// Values are single-precision numbers, steps are regular, times are not. Ranges are as long as
/// 2,000 steps or all, evenly on a logarithmic scale, anywhere. Writes JSON to standard output.
/// bench/run_chart.py runs it.

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include "bench/measuring/repeats.h"
#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/metrics/chart.h"
#include "headrace/metrics/compact.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

constexpr std::size_t kSeries = 20;
constexpr std::size_t kColumns = 2000;

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kSeries; ++i) names.push_back(concat("metric/", i));
  return names;
}

/// A curve that falls, with noise, a spike here and there.
class Curves {
 public:
  double value(std::size_t series, double share) {
    noise_ = noise_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const double noise = static_cast<double>(noise_ >> 40) / (1 << 24) - 0.5;
    const double curve = std::exp(-3 * share) * static_cast<double>(series + 1);
    return static_cast<float>(curve * (1 + 0.2 * noise) + (noise_ >> 44 == 0 ? 100 : 0));
  }

 private:
  std::uint64_t noise_ = 7;
};

Status write(const Location& log, std::uint64_t points) {
  const std::vector<std::string> names = metric_names();
  const std::uint64_t steps = points / kSeries, most_steps = kMostCompactedPoints / kSeries;
  Curves curves;
  SegmentHead head{.last_digest = Bytes(32)};
  std::uint64_t bytes = 0, number = 0, time_us = 1'790'000'000'000'000;
  for (std::uint64_t first = 0; first < steps; first += most_steps, ++number) {
    std::vector<MetricPoint> some;
    some.reserve(kSeries * most_steps);
    for (std::uint64_t step = first; step < std::min(steps, first + most_steps); ++step) {
      time_us += 50'000 + step * 7919 % 1'000;
      const double share = static_cast<double>(step) / static_cast<double>(steps);
      for (std::uint32_t metric = 0; metric < kSeries; ++metric)
        some.push_back({metric, static_cast<std::int64_t>(step), static_cast<std::int64_t>(time_us),
                        curves.value(metric, share)});
    }
    head.first = 2 * number;
    head.last = 2 * number + 1;
    const Bytes segment = encode_segment(head, names, some);
    HEADRACE_CHECK(
        log.store->write(log.at(segment_name(head.first, head.last)).key, segment, {.is_durable = false}));
    bytes += segment.size();
    head.previous = Bytes(32);
  }
  std::cout << Json({{"points", points}, {"segments", number}, {"bytes", bytes}}).dump() << '\n';
  return {};
}

Result<RunMetrics> open_run(const Location& log) {
  HEADRACE_TRY(MetricLog opened, MetricLog::open(log, {}));
  std::vector<PartLog> parts;
  parts.push_back({0, std::move(opened)});
  return RunMetrics(std::move(parts));
}

ChartRange random_range(std::mt19937_64& random, ChartRange all) {
  const auto length = static_cast<double>(all.last - all.first + 1);
  std::uniform_real_distribution<double> even(0, 1);
  const double zoomed = std::min(length, kColumns * std::pow(length / kColumns, even(random)));
  const auto first = static_cast<std::int64_t>(even(random) * (length - zoomed));
  return {all.first + first, all.first + first + static_cast<std::int64_t>(zoomed) - 1};
}

Status draw(const RunMetrics& run, const ChartRange& range, int threads, ChartCost& cost) {
  std::vector<ChartSeries> series;
  for (std::string& name : metric_names()) series.push_back({&run, std::move(name), 0, range});
  HEADRACE_TRY(const auto columns, chart_columns(series, {.columns = kColumns, .threads = threads}, &cost));
  std::uint64_t points = 0;
  for (const ChartColumn& column : columns.front()) points += column.finite;
  if (points == static_cast<std::uint64_t>(range.last - range.first) + 1) return {};
  return Error{Code::kDataLoss, concat("a chart of ", points, " points")};
}

Status read(const Location& log, int zooms, int threads, bool is_cold) {
  std::mt19937_64 random(11);
  Repeats opening, whole, times;
  HEADRACE_TRY(const RunMetrics run, opening.time([&] { return open_run(log); }));
  HEADRACE_TRY(const auto all, chart_range({.metrics = &run, .name = "metric/0"}, {}));
  Json bytes = Json::array(), requests = Json::array(), rounds = Json::array(), steps = Json::array();
  for (int i = 0; i < zooms; ++i) {
    const ChartRange range = random_range(random, *all);
    ChartCost cost;
    HEADRACE_CHECK(times.time([&]() -> Status {
      if (!is_cold) return draw(run, range, threads, cost);
      HEADRACE_TRY(const RunMetrics opened, open_run(log));
      return draw(opened, range, threads, cost);
    }));
    bytes.push_back(cost.bytes);
    requests.push_back(cost.requests);
    rounds.push_back(cost.rounds);
    steps.push_back(range.last - range.first + 1);
  }
  for (int i = 0; i < 5; ++i) {
    ChartCost cost;
    HEADRACE_CHECK(whole.time([&] { return draw(run, *all, threads, cost); }));
  }
  Json answer = {{"open", opening.to_json()},       {"whole", whole.to_json()},
                 {"zooms", times.to_json()},        {"bytes", std::move(bytes)},
                 {"requests", std::move(requests)}, {"rounds", std::move(rounds)},
                 {"steps", std::move(steps)}};
  std::cout << answer.dump() << '\n';
  return {};
}

Status read_points(const Location& log) {
  Repeats times;
  const Status done = times.time([&]() -> Status {
    HEADRACE_TRY(const RunMetrics run, open_run(log));
    for (const std::string& name : metric_names()) HEADRACE_CHECK(run.read(name, 0));
    return {};
  });
  HEADRACE_CHECK(done);
  std::cout << times.to_json().dump() << '\n';
  return {};
}

Status run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return Error{Code::kInvalidArgument, "write|read|cold|points URL …"};
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location log, registry.open(arguments[1]));
  const auto number = [&](std::size_t i) {
    return i < arguments.size() ? std::strtoull(arguments[i].c_str(), nullptr, 10) : 1;
  };
  if (arguments[0] == "write") return write(log, number(2));
  if (arguments[0] == "points") return read_points(log);
  return read(log, static_cast<int>(number(2)), static_cast<int>(number(3)), arguments[0] == "cold");
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  const headrace::Status status = headrace::run({argv + 1, argv + argc});
  if (!status) std::cerr << status.error().message << '\n';
  return status ? 0 : 1;
}
