// `runs chart`: charts of metrics of runs, in the terminal, as a page, as an SVG file, or as JSON.

#include <tuple>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/braille_chart.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/history/run_charts.h"
#include "headrace/os/parallel.h"
#include "headrace/page/html.h"
#include "headrace/page/series_chart.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::size_t kTerminalColumns = 140;  // columns of dots

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
     .sentence = "Smooth the lines with this weight of earlier values, as TensorBoard does, but by the last "
                 "values of columns. Bands are not smoothed.",
     .minimum = 0,
     .maximum = 0.999},
    {.name = "log", .type = OptionType::kFlag, .sentence = "Scale values logarithmically."},
    {.name = "to",
     .unit = "FILE",
     .sentence =
         "Write an HTML page, or an SVG file if its name ends with .svg, to this URL; -: the page, to "
         "standard output."},
};

// Parses FIRST:LAST.
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
               concat("--steps is ", text, "; it must be FIRST:LAST, two steps, as in 100:2000 or 100:")};
}

RunChartAxis axis_of(const std::string& x) {
  return x == "step" ? RunChartAxis::kStep : x == "time" ? RunChartAxis::kTime : RunChartAxis::kRelative;
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

Json chart_to_json(const RunCharts& charts, const std::string& axis) {
  Json out = {{"x", axis}, {"series", Json::array()}};
  for (const ChartedSeries& each : charts.series) {
    const ChartColumns places = each.places();
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

RunChartDrawing drawing_of(const OptionValues& options) {
  return {.smooth = options.number("smooth"), .is_log = options.flag("log")};
}

bool is_svg(const OptionValues& options) { return options.has("to") && options.text("to").ends_with(".svg"); }

std::string chart_page(const RunCharts& charts, const OptionValues& options) {
  std::string body = html_element("h1", "Metrics");
  for (const std::string& metric : charts.metric_names())
    body += html_card(metric, html_series_chart(drawn_chart(charts, metric, drawing_of(options))));
  return html_document("Metrics", body);
}

Status write_chart(CommandContext& context, const RunCharts& charts, const OptionValues& options) {
  const std::string& to = options.text("to");
  if (to == "-") return context.console.result_bytes(as_bytes(chart_page(charts, options)));
  HEADRACE_TRY(const Location file, context.stores.open(to));
  const std::string content = is_svg(options) ? svg_series_chart(drawn_chart(charts, "", drawing_of(options)))
                                              : chart_page(charts, options);
  HEADRACE_CHECK(write_text(*file.store, file.key, content, {.call = context.call()}));
  context.console.note(concat("the chart is ", file.describe()));
  return {};
}

void print_charts(CommandContext& context, const RunCharts& charts, const OptionValues& options) {
  const std::size_t lines = charts.series.size() == 1 ? 12 : 5;
  for (const ChartedSeries& each : charts.series) {
    const std::vector<double> line = smoothed_line(each.columns, options.number("smooth"));
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
    context.console.result(concat("             ", options.text("x"), " ",
                                  chart_x_text(charts.axis, each.range.first), " to ",
                                  chart_x_text(charts.axis, each.range.last)));
  }
}

Result<std::vector<RunToChart>> charted_runs(CommandContext& context,
                                             const std::vector<std::string>& arguments) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  std::vector<std::string> ids(arguments.begin() + 1, arguments.end());
  if (ids.empty()) ids.emplace_back();
  if (ids.size() > kMostChartedRuns)
    return Error{Code::kInvalidArgument, concat("up to ", kMostChartedRuns, " runs can be shown")};
  std::vector<RunToChart> runs;
  for (const std::string& id : ids) {
    HEADRACE_TRY(const RunRecord run, run_at(context, location, id));
    HEADRACE_TRY(RunMetrics metrics, metrics_of(context, run));
    runs.push_back({run.id, std::move(metrics)});
  }
  return runs;
}

Status show_chart(CommandContext& context, const std::vector<std::string>& arguments,
                  const OptionValues& options) {
  HEADRACE_TRY(const std::vector<RunToChart> runs, charted_runs(context, arguments));
  const bool is_terminal = !options.has("to") && !context.console.json();
  RunChartRequest request{
      .metrics = options.list("metric"),
      .axis = axis_of(options.text("x")),
      .shares_range = is_svg(options),
      .columns = is_terminal ? kTerminalColumns : static_cast<std::size_t>(options.integer("columns")),
      .threads = available_cores(),
      .call = context.call()};
  if (options.has("steps")) {
    HEADRACE_TRY(const auto steps, parse_steps(options.text("steps")));
    std::tie(request.first, request.last) = steps;
  }
  HEADRACE_TRY(const RunCharts charts, chart_runs(runs, request));
  if (options.has("to")) return write_chart(context, charts, options);
  if (context.console.json()) {
    context.console.result(chart_to_json(charts, options.text("x")).dump());
  } else {
    print_charts(context, charts, options);
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
