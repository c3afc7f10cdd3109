#include "headrace/metrics/run_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/sparkline.h"
#include "headrace/cli/text_table.h"
#include "headrace/log/recover_segments.h"
#include "headrace/metrics/chart.h"
#include "headrace/metrics/recover.h"
#include "headrace/os/parallel.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::size_t kPlotColumns = 40;
// A metric with more points, all of which must be read, has no plot.
constexpr std::uint64_t kMostPointsWithoutPyramid = 1'000'000;

constexpr Option kMetricsOptions[] = {
    {.name = "metric",
     .unit = "NAME",
     .sentence = "Print all points of this metric: rank, step, time in seconds since 1970, and value, "
                 "separated by tabs."},
    {.name = "verify",
     .type = OptionType::kFlag,
     .sentence =
         "Read everything, and compare all checksums and the chain of segments; damage in event files "
         "is an error."},
};

std::string seconds(std::int64_t time_us) {
  std::array<char, 40> text;
  const double time = static_cast<double>(time_us) / 1e6;
  return {text.data(),
          std::to_chars(text.data(), text.data() + text.size(), time, std::chars_format::fixed, 6).ptr};
}

Json optional_number(const std::optional<double>& value) { return value ? number_to_json(*value) : Json(); }

Status print_json(CommandContext& context, const RunRecord& run,
                  const std::vector<MetricSummary>& summaries) {
  Json all = Json::array();
  for (const MetricSummary& metric : summaries) {
    all.push_back(Json({{"name", metric.name},
                        {"rank", metric.rank},
                        {"points", metric.points},
                        {"last_step", metric.last_step},
                        {"last", number_to_json(metric.last)},
                        {"minimum", optional_number(metric.minimum)},
                        {"maximum", optional_number(metric.maximum)}}));
  }
  context.console.result(Json({{"run", run.id}, {"metrics", std::move(all)}}).dump());
  return {};
}

// A small plot of each metric, from the last values of columns of equal width. Empty if that takes too many
// points.
Result<std::vector<std::string>> plots_of(CommandContext& context, const RunMetrics& metrics,
                                          const std::vector<MetricSummary>& summaries) {
  const ChartOptions options{.columns = kPlotColumns, .threads = available_cores(), .call = context.call()};
  std::vector<std::string> plots(summaries.size());
  std::vector<ChartSeries> series;
  std::vector<std::size_t> plotted;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    ChartSeries each{&metrics, summaries[i].name, summaries[i].rank};
    if (points_without_pyramid(each, options.axis) > kMostPointsWithoutPyramid) continue;
    series.push_back(std::move(each));
    plotted.push_back(i);
  }
  HEADRACE_TRY(const auto ranges, chart_ranges(series, options));
  for (std::size_t i = 0; i < series.size(); ++i) series[i].range = ranges[i].value_or(ChartRange());
  HEADRACE_TRY(const auto charts, chart_columns(series, options));
  for (std::size_t i = 0; i < charts.size(); ++i) {
    std::vector<double> values;
    for (const ChartColumn& column : charts[i]) {
      if (column.finite + column.not_finite > 0) values.push_back(column.last);
    }
    plots[plotted[i]] = sparkline(values, kPlotColumns);
  }
  return plots;
}

Status print_table(CommandContext& context, const RunMetrics& metrics,
                   const std::vector<MetricSummary>& summaries) {
  std::vector<std::vector<std::string>> rows = {{"metric", "points", "step", "last", "minimum", "maximum"}};
  HEADRACE_TRY(const std::vector<std::string> plots, plots_of(context, metrics, summaries));
  for (const MetricSummary& metric : summaries) {
    const std::string name = context.console.name(metric.name);
    rows.push_back({metric.rank == 0 ? name : concat(name, " (rank ", metric.rank, ")"),
                    concat(metric.points), concat(metric.last_step), short_number(metric.last),
                    metric.minimum ? short_number(*metric.minimum) : "",
                    metric.maximum ? short_number(*metric.maximum) : ""});
  }
  const std::vector<std::string> lines = table_lines(rows, Align::kRight);
  context.console.result(lines.front());
  for (std::size_t i = 0; i < plots.size(); ++i)
    context.console.result(plots[i].empty() ? lines[i + 1] : concat(lines[i + 1], "  ", plots[i]));
  return {};
}

Status print_points(CommandContext& context, const RunMetrics& metrics,
                    const std::vector<MetricSummary>& summaries, const std::string& name) {
  bool is_found = false;
  for (const MetricSummary& metric : summaries) {
    if (metric.name != name) continue;
    is_found = true;
    HEADRACE_TRY(const MetricSeries series, metrics.read(name, metric.rank));
    std::string lines;
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      lines += concat(metric.rank, "\t", series.steps[i], "\t", seconds(series.times_us[i]), "\t",
                      exact_number(series.values[i]), "\n");
    }
    HEADRACE_CHECK(context.console.result_bytes(as_bytes(lines)));
  }
  if (is_found) return {};
  return Error{Code::kNotFound,
               concat("the run has logged no metric ", name, "; without --metric, its metrics are listed")};
}

Status show_metrics(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunRecord run, run_at(context, location, arguments.size() > 1 ? arguments[1] : ""));
  HEADRACE_TRY(const RunMetrics metrics, metrics_of(context, run, {.verifies = options.flag("verify")}));
  HEADRACE_TRY(const std::vector<MetricSummary> summaries, metrics.summaries());
  if (summaries.empty()) return Error{Code::kNotFound, concat("the run ", run.id, " has logged no metrics")};
  if (options.has("metric")) return print_points(context, metrics, summaries, options.text("metric"));
  return context.console.json() ? print_json(context, run, summaries)
                                : print_table(context, metrics, summaries);
}

Status recover(CommandContext& context, const std::vector<std::string>&, const OptionValues&) {
  const auto state = state_folder(context.environment);
  if (!state)
    return Error{Code::kFailedPrecondition,
                 "set HOME or XDG_STATE_HOME: without them, this machine keeps no metrics or media"};
  const auto open = [&](const std::string& url) { return context.stores.open(url); };
  Status outcome;
  Json all = Json::array();
  bool is_any_left = false;
  const auto show = [&](const std::string& folder, const Status& status, Json json, const std::string& line) {
    is_any_left = true;
    all.push_back(std::move(json));
    if (!status && !outcome)
      context.console.warn(outcome.error().message);  // the command returns the last error
    if (!status) outcome = status.error().in(folder);
    if (!context.console.json()) context.console.result(line);
  };
  for (const RecoveredLog& log : recover_metrics(concat(*state, "/metrics"), open, context.call())) {
    show(log.folder, log.status, Json({{"url", log.url}, {"points", log.points}, {"segments", log.segments}}),
         concat(log.url.empty() ? log.folder : log.url, ": ", log.points, " points in ", log.segments,
                " segments"));
  }
  for (const RecoveredSegments& log :
       recover_segments(concat(*state, kSegmentJournals), open, context.call())) {
    show(log.folder, log.status,
         Json({{"url", log.url}, {"bytes", log.size_bytes}, {"segments", log.segments}}),
         concat(log.url.empty() ? log.folder : log.url, ": ", format_size(log.size_bytes), " of events in ",
                log.segments, " segments"));
  }
  if (context.console.json()) context.console.result(Json({{"recovered", std::move(all)}}).dump());
  if (!is_any_left) context.console.note("no killed process has left metrics or media on this machine");
  return outcome;
}

}  // namespace

HistorySource history_source(CommandContext& context) {
  return {.open = [&](const std::string& url) { return context.stores.open(url); },
          .warn = [&](const std::string& message) { context.console.warn(message); },
          .call = context.call()};
}

Result<RunMetrics> metrics_of(CommandContext& context, const RunRecord& run, const HistoryOptions& options) {
  return metrics_of(run, history_source(context), options);
}

std::string short_number(double value) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  return {text.data(), end};
}

std::string exact_number(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

extern const Command kRunsMetricsCommand;
const Command kRunsMetricsCommand = {
    .name = "runs metrics",
    .summary = "Show the metrics that a run has logged",
    .details =
        "Lists the metrics of a run of hr.init or headrace train: how many points, the last value, "
        "extremes,\n"
        "and a small plot. A run that still goes on is shown as far as it is in the store. Scalars of event\n"
        "files are metrics, too: train/epoch_loss is the tag epoch_loss of the series train.\n"
        "\n"
        "  headrace runs metrics s3://datasets/runs\n"
        "  headrace runs metrics s3://datasets/runs 20261121-032600 --metric loss > loss.tsv",
    .positionals = kRunPositionals,
    .options = kMetricsOptions,
    .run = show_metrics};

extern const Command kRunsRecoverCommand;
const Command kRunsRecoverCommand = {
    .name = "runs recover",
    .summary = "Write the metrics and media that killed processes have left on this machine",
    .details =
        "Until they are in the store, metrics and media of runs are in files of this machine. If a process\n"
        "was killed, or the store did not answer when it ended, this command writes them to where they\n"
        "belong. So does the next run on this machine. Logs of living processes are left alone, and so are\n"
        "media of runs that were removed meanwhile: the message names their folder.\n"
        "\n"
        "  headrace runs recover",
    .positionals = {},
    .options = {},
    .run = recover};

}  // namespace headrace
