#include "headrace/cli/runners.h"

#include "headrace/base/text.h"
#include "headrace/cli/own_package.h"
#include "headrace/cli/rank.h"
#include "headrace/cli/worker_count.h"

namespace headrace {
namespace {

using Kind = Runner::Kind;

Error wrong_runner(std::string_view what) { return {Code::kInvalidArgument, std::string(what)}; }

}  // namespace

std::string runner_text(const OptionValues& values) {
  return values.has("print-manifest") && !values.given("runner") ? "ranks" : values.text("runner");
}

Status check_runner_options(const OptionValues& values) {
  HEADRACE_CHECK(parse_reject_limit(values.text("max-rejects")));
  HEADRACE_TRY(const Runner runner, parse_runner(runner_text(values)));
  const bool has_options = values.has("runner-option");
  if (has_options && runner.kind != Kind::kRay && runner.kind != Kind::kBeam)
    return wrong_runner("--runner-option is for --runner ray and beam");
  if (has_options) {
    for (const std::string& option : values.list("runner-option")) {
      if (option.find('=') == std::string::npos || option.starts_with('='))
        return wrong_runner(concat("--runner-option must be key=value; it is ", option));
    }
  }
  const bool is_of_several = runner.kind == Kind::kStore || runner.kind == Kind::kRanks;
  if (is_of_several && values.flag("overwrite"))
    return wrong_runner(
        "with --runner store and ranks each process would remove what the others wrote: run headrace "
        "plan --overwrite once, and then these without --overwrite");
  if (is_of_several && values.flag("retry-failed"))
    return wrong_runner(
        "--retry-failed is not for --runner store and ranks, where a process that starts late would retry "
        "again: run headrace plan --retry-failed once, then headrace execute and publish");
  if (runner.kind == Kind::kStore && values.has("run-id"))
    return wrong_runner(
        "--run-id is not for --runner store, whose processes have no numbers: each is a run of its own");
  if (values.has("print-manifest") && !is_of_several)
    return wrong_runner(
        concat("--print-manifest is for --runner ranks and store, whose processes share the work; ", "it is ",
               runner_text(values)));
  return {};
}

Result<PrepareOptions> prepare_options_from(CommandContext& context, const OptionValues& values) {
  PrepareOptions options;
  options.workers = workers_from(values);
  options.overwrite = values.flag("overwrite");
  options.memory_bytes = values.size_bytes("memory");
  options.max_rejects = max_rejects_from(values);
  options.patience = std::chrono::seconds(values.integer("patience"));
  options.lease = lease_from(values);
  HEADRACE_TRY(options.runner, parse_runner(values.text("runner")));
  if (options.runner.kind == Kind::kRanks) {
    HEADRACE_TRY(const Rank rank, find_rank(context.environment));
    options.rank = rank.rank;
    options.world_size = rank.world_size;
  }
  EngineStart& engine = options.engine;
  engine.environment = &context.environment;
  engine.python_package = own_python_package;
  engine.note = [&console = context.console](std::string_view line) { console.note(line); };
  if (values.has("runner-option")) engine.options = values.list("runner-option");
  for (const char* const name : {"max-rejects", "encoder-weights"}) {
    if (values.has(name)) engine.execute_options.push_back(concat("--", name, "=", values.text(name)));
  }
  engine.execute_options.push_back(concat("--map-timeout=", values.integer("map-timeout")));
  return options;
}

}  // namespace headrace
