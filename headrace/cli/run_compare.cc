// `runs compare`: what differs between runs, and their final metrics side by side.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/quoted_name.h"
#include "headrace/cli/run_views.h"

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

using Facts = std::map<std::string, std::string>;

struct Section {
  std::string_view name;  // in JSON
  std::string_view title;
  std::vector<Facts> of_runs{};
  bool shows_equal = false;
};

Facts inputs_of(const RunRecord& run) {
  Facts facts;
  for (const Artifact& input : run.inputs()) facts[input.name] = artifact_line(input);
  return facts;
}

Facts metrics_of_end(const RunRecord& run) {
  Facts facts;
  if (!run.end) return facts;
  for (const auto& [name, number] : run.end->metrics) facts[name] = format_metric(number);
  return facts;
}

std::vector<Section> sections_of(const std::vector<RunRecord>& runs, bool shows_equal) {
  std::vector<Section> sections = {{"metrics", "metric", {}, true},
                                   {"parameters", "parameter", {}, shows_equal},
                                   {"inputs", "input", {}, shows_equal},
                                   {"versions", "version", {}, shows_equal},
                                   {"host", "host", {}, shows_equal}};
  for (const RunRecord& run : runs) {
    sections[0].of_runs.push_back(metrics_of_end(run));
    sections[1].of_runs.push_back(run.parameters());
    sections[2].of_runs.push_back(inputs_of(run));
    sections[3].of_runs.push_back(run.versions());
    sections[4].of_runs.push_back(run.start.host);
  }
  return sections;
}

// The names to be shown, each with the values of all runs; null: the run has none.
std::map<std::string, std::vector<const std::string*>> rows_of(const Section& section) {
  std::map<std::string, std::vector<const std::string*>> rows;
  for (const Facts& facts : section.of_runs) {
    for (const auto& [name, value] : facts) rows.try_emplace(name);
  }
  for (auto& [name, values] : rows) {
    for (const Facts& facts : section.of_runs) {
      const auto found = facts.find(name);
      values.push_back(found == facts.end() ? nullptr : &found->second);
    }
  }
  if (section.shows_equal) return rows;
  std::erase_if(rows, [](const auto& row) {
    const std::vector<const std::string*>& values = row.second;
    return std::ranges::all_of(values, [&](const std::string* value) {
      return value != nullptr && values.front() != nullptr && *value == *values.front();
    });
  });
  return rows;
}

// A value in its column: on one line, and not too long.
std::string cell(const std::string* value) {
  if (value == nullptr) return "-";
  std::string text = quoted_name(*value, Quoting::kUnsafe);
  return text.size() <= kColumnBytes ? text : printable_line(text, kColumnBytes);
}

void print_table(CommandContext& context, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    context.console.result(line);
  }
}

void print_comparison(CommandContext& context, const std::vector<RunRecord>& runs,
                      const std::vector<Section>& sections) {
  std::vector<std::vector<std::string>> rows = {{"run"}, {"status"}, {"seconds"}};
  for (const RunRecord& run : runs) {
    rows[0].push_back(quoted_name(run.id, Quoting::kUnsafe));
    rows[1].emplace_back(run_status_name(run.status()));
    rows[2].push_back(run.end ? format_metric(run.end->seconds) : "-");
  }
  for (const Section& section : sections) {
    for (const auto& [name, values] : rows_of(section)) {
      std::vector<std::string>& row = rows.emplace_back();
      row.push_back(concat(section.title, " ", cell(&name)));
      for (const std::string* value : values) row.push_back(cell(value));
    }
  }
  print_table(context, rows);
}

Json comparison_to_json(const std::vector<RunRecord>& runs, const std::vector<Section>& sections) {
  Json out = {{"runs", Json::array()}};
  for (const RunRecord& run : runs) out["runs"].push_back(run.id);
  for (const Section& section : sections) {
    Json shown = Json::object();
    for (const auto& [name, values] : rows_of(section)) {
      Json list = Json::array();
      for (const std::string* value : values) list.push_back(value == nullptr ? Json() : Json(*value));
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
    HEADRACE_TRY(RunList newest, runs_at(context, location, 2));
    runs = std::move(newest.runs);
  }
  if (runs.size() < 2) return Error{Code::kInvalidArgument, "name at least two runs to compare"};
  return runs;
}

Status compare(CommandContext& context, const std::vector<std::string>& arguments,
               const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  const std::vector<std::string> ids(arguments.begin() + 1, arguments.end());
  HEADRACE_TRY(const std::vector<RunRecord> runs, chosen_runs(context, location, ids));
  const std::vector<Section> sections = sections_of(runs, options.flag("all"));
  if (context.console.json()) {
    context.console.result(comparison_to_json(runs, sections).dump());
  } else {
    print_comparison(context, runs, sections);
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
        "of the runs.\n"
        "\n"
        "  headrace runs compare s3://datasets/runs                        the newest two\n"
        "  headrace runs compare s3://datasets/runs 20261121 20261122 cnn-7",
    .positionals = kComparePositionals,
    .options = kCompareOptions,
    .run = compare};

}  // namespace headrace
