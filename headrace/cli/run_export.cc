// `runs export`: all points of metrics, or logged tables, as one table in CSV or Parquet.

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/parquet.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/run_table.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

constexpr Positional kExportPositionals[] = {
    {.name = "URL", .sentence = "The output of the runs, or a folder above it."},
    {.name = "TARGET", .sentence = "The table, a path or URL that ends in .csv or .parquet; it is replaced."},
    {.name = "RUN",
     .sentence = "Id of a run, or the beginning of one. Default: all runs that have logged metrics.",
     .required = false,
     .repeated = true},
};

constexpr Option kExportOptions[] = {
    {.name = "table", .unit = "NAME", .sentence = "Write the tables (hr.Table) of this name, of all steps."},
};

// Holds one metric of one rank in memory at a time.
Result<std::uint64_t> write_points(const RunRecord& run, const RunMetrics& metrics, std::ofstream& file) {
  std::uint64_t points = 0;
  HEADRACE_TRY(const std::vector<MetricSummary> summaries, metrics.summaries());
  for (const MetricSummary& metric : summaries) {
    HEADRACE_TRY(const MetricSeries series, metrics.read(metric.name, metric.rank));
    const std::string begin = concat(csv_field(run.id), ",", metric.rank, ",", csv_field(metric.name), ",");
    for (std::size_t i = 0; i < series.values.size(); ++i)
      file << begin << series.steps[i] << ',' << series.times_us[i] << ',' << exact_number(series.values[i])
           << '\n';
    points += series.values.size();
  }
  return points;
}

Result<std::vector<RunRecord>> chosen(CommandContext& context, const Location& location,
                                      const std::vector<std::string>& arguments) {
  std::vector<RunRecord> runs;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    HEADRACE_TRY(RunRecord run, run_at(context, location, arguments[i]));
    runs.push_back(std::move(run));
  }
  std::ranges::stable_sort(runs, {}, [](const RunRecord& run) { return run.start.started; });
  if (!runs.empty()) return runs;
  return runs_at(context, location, kMaximumRuns);
}

struct Written {
  std::uint64_t points = 0;
  std::uint64_t runs = 0;  // runs that have points
};

// For each run, the event files that a later run continues: their points are exported with that later run.
std::vector<std::set<std::string>> continued_later(const std::vector<RunRecord>& runs) {
  std::vector<std::set<std::string>> continued(runs.size());
  std::set<std::string> later;
  for (std::size_t i = runs.size(); i-- > 0;) {
    for (const RunEventFolder& folder : event_folders_of(runs[i])) {
      if (!later.insert(folder.series.url).second) continued[i].insert(folder.series.url);
    }
  }
  return continued;
}

// `runs` are sorted, oldest first.
Result<Written> write_table(CommandContext& context, const std::vector<RunRecord>& runs,
                            const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << "run,rank,metric,step,time_us,value\n";
  Written written;
  const std::vector<std::set<std::string>> continued = continued_later(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    HEADRACE_TRY(const RunMetrics metrics, metrics_of(context, runs[i], {.left_out = continued[i]}));
    HEADRACE_TRY(const std::uint64_t points, write_points(runs[i], metrics, file));
    written.points += points;
    written.runs += points > 0 ? 1 : 0;
  }
  if (!file.flush())
    return Error{Code::kResourceExhausted, concat("cannot write ", path, ": is the disk full?")};
  return written;
}

Result<std::string> write_metrics(CommandContext& context, const std::vector<RunRecord>& runs,
                                  const Location& location, const std::string& path) {
  HEADRACE_TRY(const Written written, write_table(context, runs, path));
  if (written.points == 0)
    return Error{Code::kNotFound, concat("no run at ", location.describe(), " has logged metrics")};
  return concat(written.points, " points of ", written.runs, " runs");
}

Result<std::string> write_named_tables(CommandContext& context, const std::vector<RunRecord>& runs,
                                       const Location& location, const std::string& name,
                                       const std::string& path) {
  HEADRACE_TRY(const std::uint64_t tables, write_tables(context, runs, name, path));
  if (tables == 0)
    return Error{Code::kNotFound, concat("no run at ", location.describe(), " has logged a table ", name)};
  return concat(tables, " tables ", name);
}

Status export_table(CommandContext& context, const std::vector<std::string>& arguments,
                    const OptionValues& options) {
  const std::string& target = arguments[1];
  const bool is_parquet = target.ends_with(".parquet");
  if (!is_parquet && !target.ends_with(".csv"))
    return Error{Code::kInvalidArgument, concat(target, " ends neither in .csv nor in .parquet")};
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location to, context.stores.open(target));
  HEADRACE_TRY(const std::vector<RunRecord> runs, chosen(context, location, arguments));
  HEADRACE_TRY(const StagedFolder staged, StagedFolder::create(temporary_folder(context.environment)));
  std::string table = concat(staged.path(), "/table.csv");
  const bool has_name = options.given("table");
  HEADRACE_TRY(const std::string written,
               has_name ? write_named_tables(context, runs, location, options.text("table"), table)
                        : write_metrics(context, runs, location, table));
  if (is_parquet) {
    const std::string parquet = concat(staged.path(), "/table.parquet");
    const std::string program = has_name ? "table_parquet.py" : "metrics_parquet.py";
    HEADRACE_CHECK(run_parquet_program(context, program, {table, parquet}));
    table = parquet;
  }
  HEADRACE_CHECK(upload_file(context, table, to));
  context.console.note(concat(to.describe(), " has ", written));
  return {};
}

}  // namespace

extern const Command kRunsExportCommand;
const Command kRunsExportCommand = {
    .name = "runs export",
    .summary = "Write all points of metrics, or logged tables, in CSV or Parquet",
    .details =
        "The columns are run, rank, metric, step, time_us (since 1970) and value. Parquet needs pyarrow in "
        "the\n"
        "Python of HEADRACE_PYTHON. DuckDB, pandas and Polars read both. The table is written in the folder "
        "for temporary files (TMPDIR), and replaces TARGET once it is complete. If one run continued "
        "another in the same folder, points of both are in the table once, with the latest of these runs.\n"
        "--table writes the tables of that name instead: the columns run, rank, step, and those of the "
        "table.\n"
        "\n"
        "  headrace runs export s3://datasets/runs metrics.parquet\n"
        "  headrace runs export s3://datasets/runs s3://datasets/tables/cnn.csv cnn-1 cnn-2",
    .positionals = kExportPositionals,
    .options = kExportOptions,
    .run = export_table};

}  // namespace headrace
