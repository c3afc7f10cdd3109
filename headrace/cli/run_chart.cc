// `runs chart`: charts of metrics of runs, in the terminal, as a page, as an SVG file, or as JSON.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "headrace/base/iso_time.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/braille_chart.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/metrics/chart.h"
#include "headrace/os/parallel.h"
#include "headrace/page/html.h"
#include "headrace/page/series_chart.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::size_t kChartedRuns = 20;
constexpr std::size_t kChartedSeries = 100;
constexpr std::size_t kTerminalColumns = 140;  // of dots
constexpr std::size_t kMostLabels = 5;
constexpr std::size_t kMostCharted = 2'000'000;  // columns of all series
constexpr std::int64_t kMostTimeUs = std::numeric_limits<std::int64_t>::max() / 1000;  // until the year 2262

constexpr Positional kChartPositionals[] = {
    {.name = "URL", .sentence = "The output of the runs, or a folder above it."},
    {.name = "RUN",
     .sentence = "Id of a run, or the beginning of one; up to 20. Default: the newest run.",
     .required = false,
     .repeated = true},
};

constexpr Option kChartOptions[] = {
    {.name = "metric",
     .type = OptionType::kTextList,
     .unit = "NAME",
     .sentence = "Show this metric. Default: all but those that begin with system/."},
    {.name = "x",
     .default_value = "step",
     .unit = "axis",
     .sentence = "Show values by step, by time, or by the time since the first point of their run, in the "
                 "metrics that are shown.",
     .choices = "step|time|relative"},
    {.name = "steps",
     .unit = "FIRST:LAST",
     .sentence = "Show only these steps; FIRST or LAST may be left out."},
    {.name = "columns",
     .type = OptionType::kInteger,
     .default_value = "860",
     .unit = "columns",
     .sentence = "Columns of a chart, in a file or with --json.",
     .minimum = 1,
     .maximum = static_cast<double>(kMostChartColumns)},
    {.name = "smooth",
     .type = OptionType::kNumber,
     .default_value = "0",
     .unit = "weight",
     .sentence =
         "Smooth the lines: the weight of earlier values, as TensorBoard smooths points, but by the last "
         "values of columns. Bands stay.",
     .minimum = 0,
     .maximum = 0.999},
    {.name = "log", .type = OptionType::kFlag, .sentence = "Scale values logarithmically."},
    {.name = "to",
     .unit = "FILE",
     .sentence =
         "Write an HTML page, or an SVG file if its name ends with .svg, to this URL; -: the page, to "
         "standard output."},
};

struct Charted {
  std::string run;
  std::string metric;
  std::uint64_t rank = 0;
  std::size_t run_index = 0;
  std::int64_t origin = 0;  // of x
  ChartRange range{};       // from the origin; series of one chart have the same
  std::vector<ChartColumn> columns{};

  std::string name(bool with_metric) const {
    return concat(run, with_metric ? " " + metric : "", rank == 0 ? "" : concat(" (rank ", rank, ")"));
  }
};

/// The series that the command shows.
struct ChartedRuns {
  std::vector<RunMetrics> metrics;
  std::vector<Charted> series;
  std::string axis;
  bool is_one_chart = false;  // of all metrics; else each has its own

  std::vector<std::string> metric_names() const {
    std::set<std::string> names;
    for (const Charted& each : series) names.insert(each.metric);
    return {names.begin(), names.end()};
  }
};

Status add_run(CommandContext& context, const RunRecord& run, const OptionValues& options, ChartedRuns& out) {
  HEADRACE_TRY(RunMetrics metrics, metrics_of(context, run));
  const std::vector<std::string>& wanted = options.list("metric");
  for (const auto& [name, rank] : metrics.series()) {
    const bool is_wanted =
        wanted.empty() ? !name.starts_with(kSystemMetrics) : std::ranges::find(wanted, name) != wanted.end();
    if (is_wanted)
      out.series.push_back({.run = run.id, .metric = name, .rank = rank, .run_index = out.metrics.size()});
  }
  out.metrics.push_back(std::move(metrics));
  return {};
}

Status check_names(const ChartedRuns& charted, const OptionValues& options) {
  for (const std::string& name : options.list("metric")) {
    if (std::ranges::find(charted.series, name, &Charted::metric) == charted.series.end())
      return Error{Code::kNotFound,
                   concat("no metric ", name, " was logged; headrace runs metrics lists them")};
  }
  if (charted.series.empty()) return Error{Code::kNotFound, "the runs have logged no metrics"};
  if (charted.series.size() > kChartedSeries)
    return Error{Code::kInvalidArgument,
                 concat(charted.series.size(), " series, more than the ", kChartedSeries,
                        " that can be shown; name some with --metric")};
  return {};
}

Result<ChartedRuns> chosen_series(CommandContext& context, const std::vector<std::string>& arguments,
                                  const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  std::vector<std::string> ids(arguments.begin() + 1, arguments.end());
  if (ids.empty()) ids.emplace_back();
  if (ids.size() > kChartedRuns)
    return Error{Code::kInvalidArgument, concat("up to ", kChartedRuns, " runs can be shown")};
  ChartedRuns out{.axis = options.text("x")};
  for (const std::string& id : ids) {
    HEADRACE_TRY(const RunRecord run, run_at(context, location, id));
    HEADRACE_CHECK(add_run(context, run, options, out));
  }
  HEADRACE_CHECK(check_names(out, options));
  return out;
}

// FIRST:LAST
Result<std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>> parse_steps(
    std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto side = [](std::string_view number) { return parse_number<std::int64_t>(number); };
  if (colon != std::string_view::npos) {
    const std::string_view first = text.substr(0, colon), last = text.substr(colon + 1);
    const auto a = side(first), b = side(last);
    if ((a || first.empty()) && (b || last.empty()) && !(a && b && *b < *a)) return std::pair(a, b);
  }
  return Error{Code::kInvalidArgument,
               concat("--steps ", text, ": it is FIRST:LAST, two steps, as in 100:2000 or 100:")};
}

// Each series gets the range of its own points, and its origin; one without points is left out. Times are cut
// to those that have a date, so that their differences are numbers, too.
Status find_own_ranges(const ChartOptions& chart, ChartedRuns& charted) {
  std::vector<ChartSeries> series;
  for (const Charted& each : charted.series)
    series.push_back({&charted.metrics[each.run_index], each.metric, each.rank, {}});
  HEADRACE_TRY(const auto ranges, chart_ranges(series, chart));
  std::vector<std::int64_t> origins(charted.metrics.size(), std::numeric_limits<std::int64_t>::max());
  std::vector<Charted> found;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ranges[i]) continue;  // a later attempt has superseded all points
    Charted& each = found.emplace_back(std::move(charted.series[i]));
    each.range = *ranges[i];
    if (chart.axis == ChartAxis::kStep) continue;
    each.range = {std::clamp(each.range.first, -kMostTimeUs, kMostTimeUs),
                  std::clamp(each.range.last, -kMostTimeUs, kMostTimeUs)};
    std::int64_t& origin = origins[each.run_index];
    origin = std::min(origin, each.range.first);
  }
  charted.series = std::move(found);
  if (charted.series.empty()) return Error{Code::kNotFound, "the runs have logged no points"};
  if (charted.axis != "relative") return {};
  for (Charted& each : charted.series) {
    each.origin = origins[each.run_index];
    each.range = {each.range.first - each.origin, each.range.last - each.origin};
  }
  return {};
}

// Without points in these steps the range is a single step, and nothing is drawn.
Result<ChartRange> chosen_steps(const OptionValues& options, ChartRange all) {
  if (!options.has("steps")) return all;
  HEADRACE_TRY(const auto steps, parse_steps(options.text("steps")));
  if (steps.first) return ChartRange{*steps.first, std::max(*steps.first, steps.second.value_or(all.last))};
  const std::int64_t last = steps.second.value_or(all.last);
  return ChartRange{std::min(all.first, last), last};
}

// All series of a chart have the range of them all.
Status find_ranges(const OptionValues& options, const ChartOptions& chart, ChartedRuns& charted) {
  HEADRACE_CHECK(find_own_ranges(chart, charted));
  std::map<std::string, ChartRange> charts;
  for (const Charted& each : charted.series) {
    ChartRange& all = charts.try_emplace(charted.is_one_chart ? "" : each.metric, each.range).first->second;
    all = {std::min(all.first, each.range.first), std::max(all.last, each.range.last)};
  }
  for (auto& [metric, range] : charts) {
    HEADRACE_TRY(range, chosen_steps(options, range));
  }
  for (Charted& each : charted.series) each.range = charts.at(charted.is_one_chart ? "" : each.metric);
  return {};
}

Status read_columns(const ChartOptions& chart, ChartedRuns& charted) {
  std::vector<ChartSeries> series;
  for (const Charted& each : charted.series)
    series.push_back({&charted.metrics[each.run_index],
                      each.metric,
                      each.rank,
                      {each.range.first + each.origin, each.range.last + each.origin}});
  HEADRACE_TRY(auto columns, chart_columns(series, chart));
  for (std::size_t i = 0; i < series.size(); ++i) charted.series[i].columns = std::move(columns[i]);
  return {};
}

// An exponential mean of the columns' last values, without a bias towards 0 at the beginning.
std::vector<double> smoothed(const std::vector<ChartColumn>& columns, double weight) {
  std::vector<double> line;
  double mean = 0, all = 0;
  for (const ChartColumn& column : columns) {
    if (column.finite > 0) {
      mean = weight * mean + (1 - weight) * column.last;
      all = weight * all + (1 - weight);
    }
    line.push_back(column.finite > 0 ? mean / all : NAN);
  }
  return line;
}

std::string x_text(const ChartedRuns& charted, std::int64_t x) {
  if (charted.axis == "step") return concat(x);
  if (charted.axis == "relative") return concat(three_digits(static_cast<double>(x) / 1e6), " s");
  return format_time_ms(std::chrono::system_clock::time_point(std::chrono::microseconds(x)));
}

Json column_values(const std::vector<ChartColumn>& columns, double ChartColumn::*member) {
  Json values = Json::array();
  for (const ChartColumn& column : columns) {
    if (column.finite + column.not_finite > 0)
      values.push_back(column.finite > 0 ? number_to_json(column.*member) : Json());
  }
  return values;
}

Json counts(const std::vector<ChartColumn>& columns, std::uint64_t ChartColumn::*member) {
  Json values = Json::array();
  for (const ChartColumn& column : columns) {
    if (column.finite + column.not_finite > 0) values.push_back(column.*member);
  }
  return values;
}

Json chart_to_json(const ChartedRuns& charted) {
  Json out = {{"x", charted.axis}, {"series", Json::array()}};
  for (const Charted& each : charted.series) {
    const ChartColumns places(each.range.first, each.range.last, each.columns.size());
    Json x = Json::array();
    for (std::size_t i = 0; i < each.columns.size(); ++i) {
      if (each.columns[i].finite + each.columns[i].not_finite > 0) x.push_back(places.begin(i));
    }
    out["series"].push_back(Json({{"run", each.run},
                                  {"metric", each.metric},
                                  {"rank", each.rank},
                                  {"x_first", each.range.first},
                                  {"x_last", each.range.last},
                                  {"x", std::move(x)},
                                  {"minimum", column_values(each.columns, &ChartColumn::minimum)},
                                  {"maximum", column_values(each.columns, &ChartColumn::maximum)},
                                  {"last", column_values(each.columns, &ChartColumn::last)},
                                  {"finite", counts(each.columns, &ChartColumn::finite)},
                                  {"not_finite", counts(each.columns, &ChartColumn::not_finite)}}));
  }
  return out;
}

// Where x lies between both ends of a range.
double place_in(ChartRange range, double from_first) {
  const auto length =
      static_cast<double>(static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first));
  return length == 0 ? 0.5 : from_first / length;
}

SeriesChart::Series drawn_series(const Charted& each, double weight, bool with_metric) {
  SeriesChart::Series out{.name = each.name(with_metric)};
  const std::vector<double> line = smoothed(each.columns, weight);
  const ChartColumns places(each.range.first, each.range.last, each.columns.size());
  const auto from_first = [&](std::int64_t x) {
    return static_cast<double>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(each.range.first));
  };
  for (std::size_t i = 0; i < each.columns.size(); ++i) {
    const ChartColumn& column = each.columns[i];
    if (column.finite + column.not_finite == 0) continue;
    const std::int64_t last = i + 1 == each.columns.size() ? each.range.last : places.begin(i + 1) - 1;
    const double centre = from_first(places.begin(i)) / 2 + from_first(last) / 2;
    out.columns.push_back({.x = place_in(each.range, centre),
                           .least = column.minimum,
                           .most = column.maximum,
                           .line = line[i],
                           .has_odd = column.not_finite > 0});
  }
  return out;
}

// No two of one number, each at its own place.
std::vector<SeriesChart::Label> x_labels(const ChartedRuns& charted, ChartRange range) {
  const auto length = static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
  const std::uint64_t parts = std::min<std::uint64_t>(length, kMostLabels - 1);
  std::vector<SeriesChart::Label> labels;
  for (std::uint64_t i = 0; i <= parts; ++i) {
    const std::uint64_t from_first =
        parts == 0 ? 0 : length / parts * i + length % parts * i / parts;  // no product is too large
    const auto x = static_cast<std::int64_t>(static_cast<std::uint64_t>(range.first) + from_first);
    labels.push_back({place_in(range, static_cast<double>(from_first)), x_text(charted, x)});
  }
  return labels;
}

// Shows one metric, or all of them if it is empty.
SeriesChart drawn_chart(const ChartedRuns& charted, const std::string& metric, const OptionValues& options) {
  SeriesChart out{.y = metric, .is_log = options.flag("log")};
  for (const Charted& each : charted.series) {
    if (!metric.empty() && each.metric != metric) continue;
    if (out.series.empty()) out.x_labels = x_labels(charted, each.range);
    out.series.push_back(drawn_series(each, options.number("smooth"), metric.empty()));
  }
  return out;
}

std::string chart_page(const ChartedRuns& charted, const OptionValues& options) {
  std::string body = html_element("h1", "Metrics");
  for (const std::string& metric : charted.metric_names())
    body += html_card(metric, html_series_chart(drawn_chart(charted, metric, options)));
  return html_document("Metrics", body);
}

Status write_chart(CommandContext& context, const ChartedRuns& charted, const OptionValues& options) {
  const std::string& to = options.text("to");
  if (to == "-") return context.console.result_bytes(as_bytes(chart_page(charted, options)));
  HEADRACE_TRY(const Location file, context.stores.open(to));
  const std::string content = charted.is_one_chart ? svg_series_chart(drawn_chart(charted, "", options))
                                                   : chart_page(charted, options);
  HEADRACE_CHECK(write_text(*file.store, file.key, content, {.call = context.call()}));
  context.console.note(concat("the chart is ", file.describe()));
  return {};
}

void print_charts(CommandContext& context, const ChartedRuns& charted, const OptionValues& options) {
  const std::size_t lines = charted.series.size() == 1 ? 12 : 5;
  for (const Charted& each : charted.series) {
    const std::vector<double> line = smoothed(each.columns, options.number("smooth"));
    const bool is_smooth = options.number("smooth") > 0;
    std::vector<BrailleColumn> columns;
    for (std::size_t i = 0; i < each.columns.size(); ++i) {
      columns.push_back(is_smooth ? BrailleColumn{line[i], line[i]}
                                  : BrailleColumn{each.columns[i].minimum, each.columns[i].maximum});
    }
    std::uint64_t odd = 0;
    for (const ChartColumn& column : each.columns) odd += column.not_finite;
    context.console.result(concat(context.console.name(each.metric), "  ", each.run,
                                  each.rank == 0 ? "" : concat(" (rank ", each.rank, ")"),
                                  odd == 0 ? "" : concat("  ", odd, " values are NaN or infinite")));
    for (const std::string& drawn : braille_chart(columns, lines, options.flag("log")))
      context.console.result(drawn);
    context.console.result(concat("             ", charted.axis, " ", x_text(charted, each.range.first),
                                  " to ", x_text(charted, each.range.last)));
  }
}

Status check_size(const ChartedRuns& charted, const ChartOptions& chart) {
  if (charted.series.size() * chart.columns <= kMostCharted) return {};
  return Error{Code::kInvalidArgument,
               concat(charted.series.size(), " series of ", chart.columns, " columns are more than the ",
                      kMostCharted, " columns that can be shown; lower --columns, or name metrics")};
}

Status show_chart(CommandContext& context, const std::vector<std::string>& arguments,
                  const OptionValues& options) {
  HEADRACE_TRY(ChartedRuns charted, chosen_series(context, arguments, options));
  const bool is_terminal = !options.has("to") && !context.console.json();
  const ChartOptions chart{
      .axis = charted.axis == "step" ? ChartAxis::kStep : ChartAxis::kTime,
      .columns = is_terminal ? kTerminalColumns : static_cast<std::size_t>(options.integer("columns")),
      .threads = available_cores(),
      .call = context.call()};
  HEADRACE_CHECK(check_size(charted, chart));
  charted.is_one_chart = options.has("to") && options.text("to").ends_with(".svg");
  HEADRACE_CHECK(find_ranges(options, chart, charted));
  HEADRACE_CHECK(read_columns(chart, charted));
  if (options.has("to")) return write_chart(context, charted, options);
  if (context.console.json()) {
    context.console.result(chart_to_json(charted).dump());
  } else {
    print_charts(context, charted, options);
  }
  return {};
}

Status check_chart(const OptionValues& options) {
  if (!options.has("steps")) return {};
  if (options.text("x") != "step") return Error{Code::kInvalidArgument, "--steps needs --x step"};
  HEADRACE_CHECK(parse_steps(options.text("steps")));
  return {};
}

}  // namespace

extern const Command kRunsChartCommand;
const Command kRunsChartCommand = {
    .name = "runs chart",
    .summary = "Draw metrics of runs",
    .details =
        "Shows the course of metrics, of one run or several: in the terminal, as a page that needs nothing "
        "else, or as an SVG file. Each column shows its least and its greatest value, so that a spike "
        "survives any zoom; lines go through the last values of columns. Columns of long runs are read from "
        "pyramids of extremes. --json prints the columns; columns without values are left out.\n"
        "Each metric has its own range of x; in an SVG file all share one.\n"
        "\n"
        "  headrace runs chart s3://datasets/runs --metric loss\n"
        "  headrace runs chart s3://datasets/runs cnn-1 cnn-2 --metric loss --metric accuracy --to "
        "chart.html\n"
        "  headrace runs chart s3://datasets/runs --metric loss --steps 1000:2000 --log",
    .positionals = kChartPositionals,
    .options = kChartOptions,
    .run = show_chart,
    .check = check_chart};

}  // namespace headrace
