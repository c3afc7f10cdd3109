#include <optional>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/find_runs.h"
#include "headrace/cli/run_table.h"
#include "headrace/cli/run_views.h"
#include "headrace/track/recorder.h"

namespace headrace {
namespace {

constexpr Positional kShowPositionals[] = {
    {.name = "URL", .sentence = "The output of the run, or a folder above it."},
    {.name = "RUN",
     .sentence =
         "Id of a run, or the beginning of one. Default: the newest run that wrote to URL, else below it.",
     .required = false},
};

constexpr Option kShowOptions[] = {
    {.name = "table", .unit = "NAME", .sentence = "Show this table (hr.Table) that the run has logged."},
    {.name = "step",
     .type = OptionType::kInteger,
     .sentence = "Show the table of this step. Default: the last one."},
};

constexpr Positional kRepairPositionals[] = {
    {.name = "URL", .sentence = "The folder with _headrace/runs/, or anything below it."}};

Status show(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues& options) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const RunRecord run, run_at(context, location, arguments.size() > 1 ? arguments[1] : ""));
  if (options.given("table")) {
    std::optional<std::int64_t> step;
    if (options.given("step")) step = options.integer("step");
    return show_table(context, run, options.text("table"), step);
  }
  context.console.result(context.console.json() ? run_to_json(run).dump() : run_page(run));
  return {};
}

Status repair(CommandContext& context, const std::vector<std::string>& arguments, const OptionValues&) {
  HEADRACE_TRY(const Location location, context.stores.open(arguments[0]));
  HEADRACE_TRY(const Location root, tracking_root(location.at("run"), context.call()));
  HEADRACE_TRY(const std::size_t created, repair_catalog(root, context.call()));
  if (context.console.json()) {
    context.console.result(Json({{"root", recorded_url(root)}, {"created", created}}).dump());
  } else {
    context.console.result(concat(root.describe(), ": ", created, " entries of the catalog were missing"));
  }
  return {};
}

}  // namespace

extern const Command kRunsShowCommand;
const Command kRunsShowCommand = {
    .name = "runs show",
    .summary = "Show the record of a run",
    .details =
        "  headrace runs show s3://datasets/runs/imdb-1            the newest run that wrote there\n"
        "  headrace runs show s3://datasets 20261121-032600\n"
        "  headrace runs show s3://datasets/runs cnn-1 --table errors",
    .positionals = kShowPositionals,
    .options = kShowOptions,
    .run = show};

extern const Command kRunsRepairCommand;
const Command kRunsRepairCommand = {
    .name = "runs repair",
    .summary = "Rebuild the catalog of runs from their records",
    .details =
        "Lineage finds runs by a catalog beside their records. If the catalog was lost, or not copied with\n"
        "the records, this command reads all records and creates the missing entries.\n"
        "\n"
        "  headrace runs repair s3://datasets",
    .positionals = kRepairPositionals,
    .options = {},
    .run = repair};

}  // namespace headrace
