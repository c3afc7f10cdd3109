#include "headrace/cli/runners.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/own_package.h"
#include "headrace/cli/rank.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"

namespace headrace {
namespace {

using Kind = Runner::Kind;

/// So long an engine may take to end what it started, once it is told to stop.
constexpr std::chrono::milliseconds kGrace{10'000};
/// How often the progress of an engine is looked at.
constexpr std::chrono::milliseconds kLookEach{2'000};
/// An engine may queue tasks for as long as its cluster likes.
constexpr std::chrono::milliseconds kNoEnd = std::chrono::hours(24 * 365 * 10);

Error wrong(std::string_view what) { return {Code::kInvalidArgument, std::string(what)}; }

/// Executes nothing, so that only waiting and progress are left.
class NoClaims : public TaskClaims {
 public:
  Result<bool> claim(std::uint64_t) override { return false; }
  void release(std::uint64_t) override {}
};

std::string_view engine_name(Kind kind) { return kind == Kind::kRay ? "ray" : "beam"; }

std::vector<std::string> adapter_arguments(const std::string& python, const Runner& runner,
                                           const SharedJob& job, const OptionValues& values) {
  std::vector<std::string> out = {python, "-m", concat("headrace._src.runners.", engine_name(runner.kind)),
                                  job.output.url.text(), concat("--target=", runner.target)};
  if (values.has("runner-option")) {
    for (const std::string& option : values.list("runner-option")) out.push_back(concat("--option=", option));
  }
  for (const char* const name : {"max-rejects", "encoder-weights"}) {
    if (values.has(name)) out.push_back(concat("--execute-option=--", name, "=", values.text(name)));
  }
  out.push_back(concat("--execute-option=--map-timeout=", values.integer("map-timeout")));
  return out;
}

/// Runs the adapter to its end: python/headrace/_src/runners. Why it failed is a line of JSON.
Status run_adapter(CommandContext& context, const std::vector<std::string>& arguments,
                   std::string_view engine) {
  HEADRACE_TRY(const std::string package, own_python_package());
  std::string failure;
  ChildConversation conversation;
  conversation.silence_max = kNoEnd;
  conversation.on_line = [&](std::string_view line) -> Result<std::string> {
    const nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
    const auto error = said.find("error");
    if (error != said.end() && error->is_string()) failure = error->get<std::string>();
    return std::string();
  };
  conversation.on_error_line = [&](std::string_view line) { context.console.note(line); };
  const ChildLimits limits{.stop = context.stop, .grace = kGrace};
  HEADRACE_TRY(const ChildResult ended,
               converse_with_child(arguments, variables_with_package(package, context.environment), limits,
                                   conversation));
  if (ended.exit_status == 0) return {};
  if (failure.empty()) failure = concat("it ended with status ", ended.exit_status, "; see what it said");
  return Error{Code::kUnknown, concat(engine, ": ", failure)};
}

Status run_engine(CommandContext& context, SharedJob& job, const Runner& runner, const OptionValues& values) {
  const std::string_view engine = engine_name(runner.kind);
  HEADRACE_TRY(const std::string python, find_python(context.environment));
  // How far the tasks are is seen in the store, whoever executes them.
  std::jthread watching([&](const std::stop_token& stop) {
    NoClaims none;
    PlanTasks tasks = job.tasks(context.stores, stop);
    // What is wrong with the plan or the store, the engine's own tasks say.
    static_cast<void>(
        run_tasks(tasks, none, {.look_each = kLookEach, .patience = kNoEnd}, progress_on(context.console)));
  });
  return run_adapter(context, adapter_arguments(python, runner, job, values), engine);
}

/// None for an engine, which deals tasks out itself.
Result<std::unique_ptr<TaskClaims>> claims_of(const Runner& runner, const CommandContext& context,
                                              const SharedJob& job, const OptionValues& values) {
  if (runner.kind == Kind::kRay || runner.kind == Kind::kBeam) return std::unique_ptr<TaskClaims>();
  if (runner.kind == Kind::kStore) return claim_by_lease(job, values);
  HEADRACE_TRY(const Rank rank, find_rank(context.environment));
  return claim_by_rank(rank.rank, rank.world_size);
}

}  // namespace

Result<Runner> parse_runner(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = colon == text.size() ? "" : text.substr(colon + 1);
  const bool is_alone = colon == text.size();
  if (name == "local") {
    const auto threads = is_alone ? std::optional(0) : parse_number<int>(rest);
    if (threads && *threads >= (is_alone ? 0 : 1) && *threads <= 1024)
      return Runner{Kind::kLocal, *threads, {}};
  }
  if (text == "store") return Runner{Kind::kStore, 0, {}};
  if (text == "ranks") return Runner{Kind::kRanks, 0, {}};
  if (text == "ray") return Runner{Kind::kRay, 0, {}};
  if (text.starts_with("ray://") && rest.size() > 2) return Runner{Kind::kRay, 0, std::string(text)};
  if (name == "beam" && (is_alone || !rest.empty())) return Runner{Kind::kBeam, 0, std::string(rest)};
  return wrong(
      concat("--runner must be local, local:THREADS, store, ranks, ray, ray://HOST:PORT, beam or "
             "beam:RUNNER; it is ",
             text));
}

std::string runner_text(const OptionValues& values) {
  return values.has("print-manifest") && !values.given("runner") ? "ranks" : values.text("runner");
}

Status check_runner_options(const OptionValues& values) {
  HEADRACE_TRY(const Runner runner, parse_runner(runner_text(values)));
  const bool has_options = values.has("runner-option");
  if (has_options && runner.kind != Kind::kRay && runner.kind != Kind::kBeam)
    return wrong("--runner-option is for --runner ray and beam");
  if (has_options) {
    for (const std::string& option : values.list("runner-option")) {
      if (option.find('=') == std::string::npos || option.starts_with('='))
        return wrong(concat("--runner-option must be key=value; it is ", option));
    }
  }
  const bool is_of_several = runner.kind == Kind::kStore || runner.kind == Kind::kRanks;
  if (is_of_several && values.flag("overwrite"))
    return wrong(
        "with --runner store and ranks each process would remove what the others wrote: run headrace "
        "plan --overwrite once, and then these without --overwrite");
  if (is_of_several && values.flag("retry-failed"))
    return wrong(
        "--retry-failed is not for --runner store and ranks, where one that comes late would retry anew: "
        "run headrace plan --retry-failed once, then headrace execute and publish");
  if (values.has("print-manifest") && !is_of_several)
    return wrong(concat("--print-manifest is for --runner ranks and store, whose processes share the work; ",
                        "it is ", runner_text(values)));
  return {};
}

Result<PrepareResult> prepare_by_runner(CommandContext& context, PlannedPrepare& planned,
                                        const Location& output, const OptionValues& values,
                                        std::string_view run_id) {
  HEADRACE_TRY(const Runner runner, parse_runner(values.text("runner")));
  if (runner.kind == Kind::kLocal) {
    PrepareOptions options = prepare_options_from(values);
    if (runner.threads > 0) options.workers = runner.threads;
    options.max_rejects = reject_limit_of(planned.plan, values);
    options.map = planned.map.get();
    return prepare(planned.plan, planned.encoders, context.stores, output, options, run_id,
                   progress_on(context.console), context.stop);
  }
  const std::unique_ptr<SharedJob> job = make_shared_job(output, std::move(planned), values);
  const PreparePlan& plan = job->planned.plan;
  PlanTasks tasks = job->tasks(context.stores, context.stop);
  const bool overwrite = values.flag("overwrite");
  if (!overwrite) {
    if (plan.base == nullptr)
      HEADRACE_CHECK(check_output(output, prepare_output(), plan_configuration(plan), false));
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(tasks.context()));
    if (published) return *std::move(published);
  }
  const bool others_join = runner.kind == Kind::kStore || runner.kind == Kind::kRanks;
  if (others_join && plan.base != nullptr) {
    HEADRACE_TRY(const bool nothing_is_new, was_appended(output, plan));
    if (nothing_is_new) return leave_base(tasks.context());
    HEADRACE_CHECK(check_continuation(output, plan));
  }
  HEADRACE_TRY(const std::unique_ptr<TaskClaims> claims, claims_of(runner, context, *job, values));
  HEADRACE_CHECK(share_plan(plan, output, overwrite));
  HEADRACE_CHECK(claims
                     ? run_shared_tasks(context, tasks, *claims, prepare_options_from(values).workers, values)
                     : run_engine(context, *job, runner, values));
  return tasks.publish(run_id);
}

}  // namespace headrace
