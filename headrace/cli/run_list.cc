// `runs ls`: a table of runs, with columns that the user chooses.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/quoted_name.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/run_table.h"
#include "headrace/cli/run_views.h"
#include "headrace/cli/text_table.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::string_view kAllNames = "*";
constexpr std::size_t kListedCellBytes = 48;
constexpr std::size_t kPrintedBytes = 64 << 10;  // printed at a time

using IndexedParameter = std::pair<std::string, std::string>;  // name, value

constexpr Positional kRunsLsPositionals[] = {
    {.name = "URL",
     .sentence = "Shows the runs that wrote to this URL or below it, and all runs whose records lie at or "
                 "below it (in a folder _headrace/runs/). Lists everything below the URL to find them."}};

constexpr Option kRunsLsOptions[] = {
    {.name = "limit",
     .type = OptionType::kInteger,
     .default_value = "1000",
     .unit = "runs",
     .sentence = "Show at most this many runs: the newest, or the first in the order of --sort.",
     .minimum = 1,
     .maximum = static_cast<double>(kMaximumRuns)},
    {.name = "offset",
     .type = OptionType::kInteger,
     .default_value = "0",
     .unit = "runs",
     .sentence = "Skip this many runs first.",
     .minimum = 0,
     .maximum = static_cast<double>(kMaximumRuns)},
    {.name = "metric",
     .type = OptionType::kTextList,
     .unit = "NAME",
     .sentence = "A column with the last value of this metric; '*': of all metrics."},
    {.name = "param",
     .type = OptionType::kTextList,
     .unit = "NAME",
     .sentence = "A column with this parameter; '*': with all parameters."},
    {.name = "where",
     .unit = "FILTER",
     .sentence = "Show only runs that the filter keeps: \"metrics.loss < 0.3 AND params.lr >= 1e-3 AND "
                 "status = 'finished'\". Further names: tags.NAME (those of MLflow), run_id, command, "
                 "output, started, seconds."},
    {.name = "sort",
     .unit = "COLUMN",
     .sentence = "The order: \"metrics.loss\", \"params.lr DESC\", \"seconds\". Runs without the value come "
                 "last. Default: by start, the oldest of those shown first."},
    {.name = "csv", .type = OptionType::kFlag, .sentence = "Print the table as CSV (RFC 4180)."},
    {.name = "no-refresh",
     .type = OptionType::kFlag,
     .sentence = "Show what the index of this machine has, without asking the store for what is new."},
};

Result<TableRequest> request_of(const OptionValues& options) {
  TableRequest request{.limit = static_cast<std::size_t>(options.integer("limit")),
                       .offset = static_cast<std::size_t>(options.integer("offset")),
                       .has_metrics = !options.list("metric").empty(),
                       .has_parameters = !options.list("param").empty(),
                       .refreshes = !options.flag("no-refresh")};
  const std::vector<std::string>& named = options.list("metric");
  if (std::ranges::find(named, kAllNames) == named.end()) request.metric_names = named;
  request.has_records = !request.has_metrics && !request.has_parameters && !options.flag("csv");
  if (options.has("where")) {
    auto filter = SearchFilter::parse(options.text("where"), indexed_run_target());
    if (!filter) return std::move(filter).error().in("--where");
    request.filter = *std::move(filter);
  }
  if (options.has("sort")) {
    auto order = parse_order(options.text("sort"), indexed_run_target());
    if (!order) return std::move(order).error().in("--sort");
    request.order = *std::move(order);
  }
  return request;
}

const std::string& name_of(const IndexedMetric& metric) { return metric.name; }
const std::string& name_of(const IndexedParameter& parameter) { return parameter.first; }

// The columns that were named, or all columns that a run has. `values` are sorted by name.
template <typename Values>
std::vector<std::string> columns_of(const std::vector<std::string>& named, const std::vector<TableRun>& runs,
                                    Values TableRun::*values) {
  std::vector<std::string> columns = named;
  if (std::erase(columns, std::string(kAllNames)) == 0) return columns;
  std::set<std::string, std::less<>> others;
  for (const TableRun& run : runs) {
    auto place = others.begin();
    for (const auto& value : run.*values) {
      if (place == others.end() || *place != name_of(value))
        place = others.emplace_hint(place, name_of(value));
      ++place;
    }
  }
  for (const std::string& name : columns) others.erase(name);
  columns.insert(columns.end(), others.begin(), others.end());
  return columns;
}

// The cells of the columns of one kind (metrics or parameters) for each run: borrowed, and null if the run
// lacks the value.
template <typename Value>
struct CellBlock {
  std::vector<std::string> columns;
  std::vector<std::vector<const Value*>> rows;
};

template <typename Value>
CellBlock<Value> block_of(const std::vector<std::string>& named, const std::vector<TableRun>& runs,
                          std::vector<Value> TableRun::*values) {
  CellBlock<Value> block{columns_of(named, runs, values), {}};
  for (const TableRun& run : runs) {
    std::vector<const Value*>& row = block.rows.emplace_back();
    row.reserve(block.columns.size());
    const std::vector<Value>& all = run.*values;
    auto next = all.begin();  // runs mostly have the same names, in the same order
    for (const std::string& column : block.columns) {
      const bool is_next = next != all.end() && name_of(*next) == column;
      const auto found = is_next ? next
                                 : std::lower_bound(all.begin(), all.end(), column,
                                                    [](const Value& value, const std::string& name) {
                                                      return name_of(value) < name;
                                                    });
      const bool has_it = found != all.end() && name_of(*found) == column;
      row.push_back(has_it ? &*found : nullptr);
      if (has_it) next = std::next(found);
    }
  }
  return block;
}

struct ChosenTable {
  CellBlock<IndexedMetric> metrics;
  CellBlock<IndexedParameter> parameters;

  template <typename Visit>
  void visit_columns(const Visit& visit) const {
    for (const std::string& name : metrics.columns) visit(name);
    for (const std::string& name : parameters.columns) visit(name);
  }
  // Visits pointers to metrics, then to parameters.
  template <typename Visit>
  void visit_cells(std::size_t row, const Visit& visit) const {
    for (const IndexedMetric* const cell : metrics.rows[row]) visit(cell);
    for (const IndexedParameter* const cell : parameters.rows[row]) visit(cell);
  }
};

Json cell_to_json(const IndexedMetric& metric) { return number_to_json(metric.value); }
Json cell_to_json(const IndexedParameter& parameter) { return parameter.second; }

template <typename Value>
Json members_of(const CellBlock<Value>& block, std::size_t row) {
  Json members = Json::object();
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const Value* const cell = block.rows[row][i];
    members[block.columns[i]] = cell ? cell_to_json(*cell) : Json();
  }
  return members;
}

Json table_to_json(const std::vector<TableRun>& runs, const ChosenTable& table) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const IndexedRun& run = runs[i].run;
    Json row = {{"id", run.id},           {"command", run.command}, {"status", run.status},
                {"started", run.started}, {"output", run.output},   {"seconds", nullptr}};
    if (run.seconds) row["seconds"] = number_to_json(*run.seconds);
    row["metrics"] = members_of(table.metrics, i);
    row["parameters"] = members_of(table.parameters, i);
    rows.values().push_back(std::move(row));
  }
  return {{"runs", std::move(rows)}};
}

std::string shown_text(const std::string& text) {
  return printable_line(quoted_name(text, Quoting::kUnsafe), kListedCellBytes);
}

std::string shown_cell(const IndexedMetric& metric) {
  if (!std::isfinite(metric.value)) return number_to_json(metric.value).text();
  return format_metric(metric.value);
}
std::string shown_cell(const IndexedParameter& parameter) { return shown_text(parameter.second); }

void print_lines(CommandContext& context, const std::vector<TableRun>& runs, const ChosenTable& table) {
  std::vector<std::vector<std::string>> rows = {{"run", "command", "status"}};
  table.visit_columns([&](const std::string& name) { rows[0].push_back(shown_text(name)); });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const IndexedRun& run = runs[i].run;
    auto& row =
        rows.emplace_back(std::vector<std::string>{shown_text(run.id), shown_text(run.command), run.status});
    table.visit_cells(i, [&](const auto* cell) { row.push_back(cell ? shown_cell(*cell) : "-"); });
  }
  for (const std::string& line : table_lines(rows, Align::kLeft)) context.console.result(line);
}

void append_csv(std::string& out, double number) {
  out += std::isfinite(number) ? exact_number(number) : number_to_json(number).text();
}
void append_csv(std::string& out, const IndexedMetric& metric) { append_csv(out, metric.value); }
void append_csv(std::string& out, const IndexedParameter& parameter) { out += csv_field(parameter.second); }

// A large table has millions of cells: they are written straight into the text, which is printed in pieces.
Status print_csv(CommandContext& context, const std::vector<TableRun>& runs, const ChosenTable& table) {
  std::string text = "run,command,status,started,seconds,output";
  table.visit_columns([&](const std::string& name) { text += concat(",", csv_field(name)); });
  text += "\r\n";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const IndexedRun& run = runs[i].run;
    for (const std::string& field : {run.id, run.command, run.status, run.started})
      text += concat(csv_field(field), ",");
    if (run.seconds) append_csv(text, *run.seconds);
    text += concat(",", csv_field(run.output));
    table.visit_cells(i, [&](const auto* cell) {
      text += ',';
      if (cell) append_csv(text, *cell);
    });
    text += "\r\n";
    if (text.size() < kPrintedBytes) continue;
    HEADRACE_CHECK(context.console.result_bytes(as_bytes(text)));
    text.clear();
  }
  return context.console.result_bytes(as_bytes(text));
}

void print_records(CommandContext& context, const std::vector<TableRun>& runs) {
  if (!context.console.json()) {
    for (const TableRun& run : runs) context.console.result(run_line(*run.record, run.run.status));
    return;
  }
  Json out = Json::array();
  for (const TableRun& run : runs) {
    Json record = run_to_json(*run.record);
    record["status"] = run.run.status;
    out.push_back(std::move(record));
  }
  context.console.result(Json({{"runs", std::move(out)}}).dump());
}

Status list(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const TableRequest request, request_of(options));
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(std::vector<TableRun> runs, table_at(context, location, request));
  if (!request.order) std::ranges::reverse(runs);
  if (request.has_records) {
    print_records(context, runs);
    return {};
  }
  const ChosenTable table{block_of(options.list("metric"), runs, &TableRun::metrics),
                          block_of(options.list("param"), runs, &TableRun::parameters)};
  if (options.flag("csv")) return print_csv(context, runs, table);
  if (context.console.json()) {
    context.console.result(table_to_json(runs, table).dump());
    return {};
  }
  print_lines(context, runs, table);
  return {};
}

}  // namespace

extern const Command kRunsLsCommand;
const Command kRunsLsCommand = {
    .name = "runs ls",
    .summary = "List the runs that wrote to a folder",
    .details =
        "Shows id, command, status, duration, final metrics and output of each run, oldest first; or a "
        "table\n"
        "with the columns that --metric and --param name. Each record is read once: an index is kept in the "
        "cache of this machine, and rebuilt if it is missing.\n"
        "\n"
        "  headrace runs ls s3://datasets\n"
        "  headrace runs ls s3://datasets/runs/imdb-1\n"
        "  headrace runs ls s3://datasets/runs --metric loss --param lr --sort metrics.loss --limit 20\n"
        "  headrace runs ls s3://datasets/runs --where \"metrics.loss < 0.3 AND status = 'finished'\"",
    .positionals = kRunsLsPositionals,
    .options = kRunsLsOptions,
    .run = list};

}  // namespace headrace
