#include <algorithm>
#include <set>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/metrics/compact.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/metrics/recover.h"
#include "headrace/metrics/run_metrics.h"
#include "headrace/track/recorder.h"
#include "headrace/track/runs.h"
#include "tests/interleave/log_commands.h"
#include "tests/interleave/output.h"
#include "tests/interleave/process.h"

namespace headrace::interleave {
namespace {

constexpr std::string_view kRoot = "memory://out/x";
constexpr std::string_view kRun = "r";

// Until each point has a segment of its own, so that the calls are the same each time; or the writer is
// killed.
void wait_for_segment(const MetricWriter& writer, std::uint64_t segments, const StallControl& control) {
  for (int look = 0; look < kMostLooks; ++look) {
    if (control.was_killed() || writer.counts().segments >= segments) return;
    std::this_thread::sleep_for(kLookEach);
  }
  give_up("a segment of metrics is not written");
}

std::string metrics_state(const Process& process) {
  return concat(*state_folder(process.environment), "/metrics");
}

// As hr.init, Run.log and Run.finish: `points` of each of two metrics, all flushed. Each row, and the end, is
// a segment of the log.
Status log_metrics(const Surroundings& in, std::uint64_t points) {
  Process process(in);
  const std::string state = metrics_state(process);
  HEADRACE_TRY(RunRecorder recorder, start_logging_run(process, kRun));
  const Location log = recorder.root().at(concat(kMetricsPrefix, kRun, "/", recorder.part()));
  Background background(2);
  HEADRACE_TRY(const std::shared_ptr<MetricWriter> writer,
               MetricWriter::open(log,
                                  {.journal_folder = concat(state, "/", recorder.part()),
                                   .wall_clock = virtual_now,
                                   .now = virtual_steady_clock(in.control)},
                                  background));
  HEADRACE_CHECK(
      recorder.add_series({.name = "metrics", .url = recorded_url(log), .kind = "metric_segments"}));
  recover_metrics(state, [&](const std::string& url) { return process.stores.open(url); }, {});
  HEADRACE_TRY(const std::uint32_t loss, writer->metric("loss"));
  HEADRACE_TRY(const std::uint32_t minus, writer->metric("minus loss"));
  for (std::uint64_t i = 1; i <= points; ++i) {
    const double value = in.world.ledger->log(log.key);
    const MetricWriter::Value row[] = {{loss, value}, {minus, -value}};
    writer->log(row, static_cast<std::int64_t>(i));
    HEADRACE_CHECK(writer->flush());
    in.world.ledger->acknowledge(log.key);
    wait_for_segment(*writer, i, *in.control);
  }
  const Status closed = writer->close(std::chrono::milliseconds(0));
  if (closed) in.world.ledger->store(log.key);
  const Status recorded = recorder.finish({}, {});
  return closed ? recorded : closed;
}

// A log of which something was removed may be refused; nothing else may.
Status judged(const Surroundings& in, const Status& status) {
  if (status || in.control->was_killed()) return status;
  const Error& error = status.error();
  const bool is_told = error.code == Code::kDataLoss || error.code == Code::kNotFound ||
                       error.code == Code::kFailedPrecondition;
  if (is_told && !in.world.out->shortened().empty()) return Error{Code::kFailedPrecondition, error.message};
  return Error{Code::kInternal, error.message};
}

Status recover_logs(const Surroundings& in) { return judged(in, Process(in).run("runs recover")); }

Status compact_logs(const Surroundings& in) {
  Process process(in);
  HEADRACE_TRY(const Location root, process.stores.open(concat(kRoot, "/", kMetricsPrefix)));
  std::set<std::string> logs;
  HEADRACE_CHECK(root.store->list(concat(root.key, "/"), {}, [&](const ObjectInfo& object) {
    logs.insert(parent_key(object.key).substr(root.key.size() + 1));
    return true;
  }));
  for (const std::string& log : logs) {
    const auto compacted = compact_log(root.at(log), {});
    if (!compacted) return judged(in, compacted.error());
  }
  return {};
}

// Whether the values of a log are the first ones that were logged, at least as many as were stored before.
Status check_values(const MetricLog& log, const World& world, const std::string& key, std::size_t least) {
  HEADRACE_TRY(const MetricSeries series, log.read("loss"));
  const LoggedValues logged = world.ledger->logs()[key];
  if (world.out->shortened().contains(key)) least = 0;
  const bool is_prefix = series.values.size() <= logged.values.size() &&
                         std::equal(series.values.begin(), series.values.end(), logged.values.begin());
  if (is_prefix && series.values.size() >= least) return {};
  return Error{Code::kInternal, concat("a reader sees ", series.values.size(), " points, not the first of ",
                                       logged.values.size(), ", of which ", least, " were stored before")};
}

// As `headrace runs metrics --verify`.
Status read_all_metrics(const Surroundings& in) {
  Process process(in);
  auto before = in.world.ledger->logs();
  HEADRACE_TRY(const Location root, process.stores.open(kRoot));
  HEADRACE_TRY(const RunRecord run, read_run(root, kRun));
  std::vector<PartLog> parts;
  for (const RunPart& part : run.parts) {
    for (const RunSeries& series : part.end ? part.end->series : part.so_far.series) {
      HEADRACE_TRY(const Location place, process.stores.open(series.url));
      HEADRACE_TRY(MetricLog log, MetricLog::open(place, {}));
      HEADRACE_CHECK(log.verify());
      HEADRACE_CHECK(check_values(log, in.world, place.key, before[place.key].stored));
      parts.push_back({part.start.rank, std::move(log)});
    }
  }
  const RunMetrics metrics(std::move(parts));
  HEADRACE_CHECK(metrics.summaries());
  HEADRACE_TRY(const MetricSeries joined, metrics.read("loss", 0));
  const std::set<double> distinct(joined.values.begin(), joined.values.end());
  if (distinct.size() == joined.values.size()) return {};
  return Error{Code::kInternal, "a reader of the run sees a point twice"};
}

Status read_metrics(const Surroundings& in) {
  const Status read = read_all_metrics(in);
  const bool has_run = read || read.error().message.find("no run") == std::string::npos;
  return has_run ? judged(in, read) : read;
}

}  // namespace

Result<RunRecorder> start_logging_run(Process& process, std::string_view id) {
  HEADRACE_TRY(const Location root, process.stores.open(kRoot));
  return RunRecorder::start(process.stores, root, {.command = "log", .command_line = {"python"}},
                            {.root_url = std::string(kRoot),
                             .run_id = std::string(id),
                             .continues_earlier = false,
                             .has_output = false,
                             .now = virtual_now});
}

std::vector<TestCommand> metric_commands() {
  return {
      {"metrics-log", [](const Surroundings& in) { return log_metrics(in, 3); }},
      {"metrics-log-many", [](const Surroundings& in) { return log_metrics(in, 8); }},
      // With more segments than `gc` leaves.
      {"metrics-log-long", [](const Surroundings& in) { return log_metrics(in, 12); }},
      {"metrics-recover", recover_logs},
      {"metrics-compact", compact_logs},
      {"metrics-read", read_metrics, true},
  };
}

}  // namespace headrace::interleave
