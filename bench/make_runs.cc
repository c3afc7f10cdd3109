/// Makes finished runs in a store, each with metrics in one compacted segment or only in its end, for
/// bench/run_index.py:
///
///   headrace_bench_make_runs URL FIRST COUNT METRICS STEPS VALUES
///
/// VALUES: `curves` (single precision: a falling loss with noise, at regular steps), `random` (any double
/// between 0 and 1), or `none` (no segments). Values are a function of the number of the run, metric and
/// step. Each run has the catalog's entries of the folder that it read and of the one that it wrote. Writes
/// JSON to standard output: the points, and the bytes of their segments.

#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>

#include "headrace/base/iso_time.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/segment.h"
#include "headrace/os/parallel.h"
#include "headrace/store/registry.h"
#include "headrace/track/catalog.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"

namespace headrace {
namespace {

constexpr int kWriters = 16;
constexpr std::int64_t kStartMs = 1'795'000'000'000;
constexpr std::int64_t kStepUs = 100'000;

struct Wanted {
  Location root;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t metrics = 0;
  std::int64_t steps = 0;
  std::string values;
};

double value_of(const Wanted& wanted, std::uint32_t metric, std::int64_t step, std::mt19937_64& random) {
  const double uniform = std::uniform_real_distribution<double>()(random);
  if (wanted.values == "random") return uniform;
  const double curve = 2.0 * std::exp(-static_cast<double>(step) / 200.0) + 0.01 * metric;
  return static_cast<float>(curve * (1.0 + 0.1 * uniform));
}

std::chrono::system_clock::time_point begun(std::uint64_t number) {
  return std::chrono::system_clock::time_point(
      std::chrono::milliseconds(kStartMs + 1000 * static_cast<std::int64_t>(number)));
}

Status write_run(const Wanted& wanted, std::uint64_t number, std::atomic<std::uint64_t>& segment_bytes) {
  const std::string run = make_run_id(begun(number), static_cast<std::uint32_t>(number));
  const std::string part = make_part_name(0, begun(number), static_cast<std::uint32_t>(number));
  std::mt19937_64 random(number);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < wanted.metrics; ++i)
    names.push_back(concat("layer_", i / 10, "/metric_", i % 10));
  RunStart start{.command = "log",
                 .command_line = {"python", "train.py"},
                 .parameters = {{"lr", concat(1e-4 * static_cast<double>(1 + number % 97))},
                                {"batch_size", concat(16 << (number % 4))},
                                {"optimizer", number % 2 == 0 ? "adam" : "sgd"},
                                {"seed", concat(number)}},
                 .versions = {{"headrace", "0.1.0"}}};
  start.output = concat(recorded_url(wanted.root), "/out/", number);
  start.inputs.push_back(
      {.url = concat(recorded_url(wanted.root), "/data/", number % 10), .kind = "folder", .name = "data"});
  start.started = format_time_ms(begun(number));
  RunEnd end{.status = number % 10 == 0 ? RunStatus::kFailed : RunStatus::kFinished,
             .ended = format_time_ms(begun(number) + std::chrono::seconds(60)),
             .seconds = 60};
  end.outputs.push_back({.url = start.output, .kind = "folder", .name = "output"});
  std::vector<MetricPoint> points;
  for (std::int64_t step = 0; step < wanted.steps; ++step) {
    for (std::uint32_t metric = 0; metric < wanted.metrics; ++metric) {
      const std::int64_t time_us = 1000 * kStartMs + step * kStepUs;
      points.push_back({metric, step, time_us, value_of(wanted, metric, step, random)});
      end.metrics[names[metric]] = points.back().value;
    }
  }
  if (wanted.values != "none") {
    const Location log = wanted.root.at(concat(kMetricsPrefix, run, "/", part));
    end.series = {{"metrics", recorded_url(log), std::string(kSegmentsKind)}};
    const Bytes segment = encode_segment({.first = 0, .last = 9, .is_end = true}, names, points);
    HEADRACE_CHECK(log.store->write(log.at(segment_name(0, 9)).key, segment, {}));
    HEADRACE_CHECK(write_text(*wanted.root.store, wanted.root.at(part_key(run, part, "series/metrics")).key,
                              serialize_run_series(run, end.series[0])));
    segment_bytes += segment.size();
  }
  const auto put = [&](std::string_view name, const std::string& text) -> Status {
    HEADRACE_CHECK(write_text(*wanted.root.store, wanted.root.at(part_key(run, part, name)).key, text,
                              {.is_durable = false}));
    return {};
  };
  const CatalogEntry entry{start.command, part, run};
  HEADRACE_CHECK(add_to_catalog(wanted.root, CatalogIndex::kOutput, start.output, entry));
  HEADRACE_CHECK(add_to_catalog(wanted.root, CatalogIndex::kInput, start.inputs[0], entry));
  HEADRACE_CHECK(put("start", serialize_run_start(run, start)));
  return put("end", serialize_run_end(run, end));
}

Status run(int count, char** arguments) {
  if (count != 7) return Error{Code::kInvalidArgument, "URL FIRST COUNT METRICS STEPS VALUES are wanted"};
  StoreRegistry registry(Environment::capture());
  Wanted wanted;
  HEADRACE_TRY(wanted.root, registry.open(arguments[1]));
  wanted.first = parse_number<std::uint64_t>(arguments[2]).value_or(0);
  wanted.count = parse_number<std::uint64_t>(arguments[3]).value_or(0);
  wanted.metrics = parse_number<std::uint32_t>(arguments[4]).value_or(0);
  wanted.steps = parse_number<std::int64_t>(arguments[5]).value_or(0);
  wanted.values = arguments[6];
  std::atomic<std::uint64_t> segment_bytes{0};
  HEADRACE_CHECK(parallel_for(kWriters, wanted.count, [&](std::size_t i) {
    return write_run(wanted, wanted.first + i, segment_bytes);
  }));
  const std::uint64_t points = wanted.count * wanted.metrics * static_cast<std::uint64_t>(wanted.steps);
  std::cout << Json{{"points", points}, {"segment_bytes", segment_bytes.load()}}.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int count, char** arguments) {
  const headrace::Status status = headrace::run(count, arguments);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
