// `runs compare`: what differs between runs, and their final metrics side by side.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/quoted_name.h"
#include "headrace/cli/run_metrics.h"
#include "headrace/cli/run_views.h"
#include "headrace/cli/text_table.h"
#include "headrace/track/json_number.h"

namespace headrace {
namespace {

constexpr std::size_t kComparedRuns = 20;
constexpr std::size_t kColumnBytes = 48;

constexpr Positional kComparePositionals[] = {
    {.name = "URL", .sentence = "The output of the runs, or a folder above it."},
    {.name = "RUN",
     .sentence = "Id of a run, or the beginning of one; up to 20. Default: the newest two.",
     .required = false,
     .repeated = true},
};

constexpr Option kCompareOptions[] = {
    {.name = "all", .type = OptionType::kFlag, .sentence = "Show what is the same in all runs, too."}};

using Facts = std::map<std::string, Json>;

template <typename Map, typename ToJson>
Facts facts_of(const Map& map, const ToJson& to_json) {
  Facts facts;
  for (const auto& [name, value] : map) facts.emplace(name, to_json(value));
  return facts;
}

Json text(const std::string& value) { return Json(value); }

struct ComparedRun {
  RunRecord record;
  std::map<std::string, double> metrics;  // final values
};

Facts final_metrics(const ComparedRun& run) { return facts_of(run.metrics, number_to_json); }
Facts inputs_by_name(const ComparedRun& run) {
  Facts facts;
  for (const Artifact& input : run.record.inputs()) facts[input.name] = Json(artifact_line(input));
  return facts;
}
Facts parameters_of_run(const ComparedRun& run) { return facts_of(run.record.parameters(), text); }
Facts versions_of_run(const ComparedRun& run) { return facts_of(run.record.versions(), text); }
Facts host_of_run(const ComparedRun& run) { return facts_of(run.record.start.host, text); }

struct Section {
  std::string_view name;  // the name in JSON
  std::string_view title;
  Facts (*of_run)(const ComparedRun&);
  bool shows_equal = false;
};

constexpr Section kSections[] = {{"metrics", "metric", final_metrics, true},
                                 {"parameters", "parameter", parameters_of_run},
                                 {"inputs", "input", inputs_by_name},
                                 {"versions", "version", versions_of_run},
                                 {"host", "host", host_of_run}};

// The names to show, each with the values of all runs; null if a run has no value.
std::map<std::string, std::vector<Json>> rows_of(const Section& section, const std::vector<ComparedRun>& runs,
                                                 bool shows_equal) {
  std::map<std::string, std::vector<Json>> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (auto& [name, value] : section.of_run(runs[i]))
      rows.try_emplace(name, runs.size()).first->second[i] = std::move(value);
  }
  if (shows_equal || section.shows_equal) return rows;
  std::erase_if(rows, [](const auto& row) {
    return std::ranges::all_of(row.second, [&](const Json& value) { return value == row.second.front(); });
  });
  return rows;
}

// A value in its column, shortened and on one line.
std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (!value.is_string()) return format_metric(value.as<double>("a metric"));
  std::string shown = quoted_name(value.text(), Quoting::kUnsafe);
  return shown.size() <= kColumnBytes ? shown : printable_line(shown, kColumnBytes);
}

void print_comparison(CommandContext& context, const std::vector<ComparedRun>& runs, bool shows_equal) {
  std::vector<std::vector<std::string>> rows = {{"run"}, {"status"}, {"seconds"}};
  for (const ComparedRun& run : runs) {
    rows[0].push_back(cell(Json(run.record.id)));
    rows[1].emplace_back(run_status_name(run.record.status()));
    rows[2].push_back(run.record.end ? format_metric(run.record.end->seconds) : "-");
  }
  for (const Section& section : kSections) {
    for (const auto& [name, values] : rows_of(section, runs, shows_equal)) {
      std::vector<std::string>& row = rows.emplace_back();
      row.push_back(concat(section.title, " ", cell(Json(name))));
      for (const Json& value : values) row.push_back(cell(value));
    }
  }
  for (const std::string& line : table_lines(rows, Align::kLeft)) context.console.result(line);
}

Json comparison_to_json(const std::vector<ComparedRun>& runs, bool shows_equal) {
  Json out = {{"runs", Json::array()}};
  for (const ComparedRun& run : runs) out["runs"].push_back(run.record.id);
  for (const Section& section : kSections) {
    Json shown = Json::object();
    for (auto& [name, values] : rows_of(section, runs, shows_equal)) {
      Json list = Json::array();
      for (const Json& value : values) list.push_back(value);
      shown[name] = std::move(list);
    }
    out[section.name] = std::move(shown);
  }
  return out;
}

Result<std::vector<RunRecord>> chosen_runs(CommandContext& context, const Location& location,
                                           const std::vector<std::string>& ids) {
  std::vector<RunRecord> runs;
  if (ids.size() > kComparedRuns)
    return Error{Code::kInvalidArgument, concat("up to ", kComparedRuns, " runs can be compared")};
  for (const std::string& id : ids) {
    HEADRACE_TRY(RunRecord run, run_at(context, location, id));
    runs.push_back(std::move(run));
  }
  if (ids.empty()) {
    HEADRACE_TRY(runs, runs_at(context, location, 2));
  }
  if (runs.size() < 2) return Error{Code::kInvalidArgument, "name at least two runs to compare"};
  return runs;
}

// Uses the last values without system metrics: how busy the machine was is not a result.
Result<ComparedRun> with_metrics(CommandContext& context, RunRecord run) {
  auto metrics = last_values(run, history_source(context));
  if (metrics) return ComparedRun{std::move(run), *std::move(metrics)};
  if (!run.end) return metrics.error();
  context.console.warn(concat("metrics of ", run.id, " are missing here: ", metrics.error().message));
  return ComparedRun{run, run.end->metrics};
}

Status compare(CommandContext& context, const std::vector<std::string>& arguments,
               const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  const std::vector<std::string> ids(arguments.begin() + 1, arguments.end());
  HEADRACE_TRY(std::vector<RunRecord> chosen, chosen_runs(context, location, ids));
  std::vector<ComparedRun> runs;
  for (RunRecord& run : chosen) {
    HEADRACE_TRY(ComparedRun compared, with_metrics(context, std::move(run)));
    runs.push_back(std::move(compared));
  }
  if (context.console.json()) {
    context.console.result(comparison_to_json(runs, options.flag("all")).dump());
  } else {
    print_comparison(context, runs, options.flag("all"));
  }
  return {};
}

}  // namespace

extern const Command kRunsCompareCommand;
const Command kRunsCompareCommand = {
    .name = "runs compare",
    .summary = "Show final metrics of runs side by side, and what differs between them",
    .details =
        "Shows the final metrics, and the parameters, inputs, versions and hosts that are not the same in "
        "all\n"
        "of the runs. Metrics in event files are shown by their last values, and so are those of a run that "
        "goes on.\n"
        "\n"
        "  headrace runs compare s3://datasets/runs                        the newest two\n"
        "  headrace runs compare s3://datasets/runs 20261121 20261122 cnn-7",
    .positionals = kComparePositionals,
    .options = kCompareOptions,
    .run = compare};

}  // namespace headrace
