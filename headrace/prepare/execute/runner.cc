#include "headrace/prepare/execute/runner.h"

#include <thread>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"

namespace headrace {
namespace {

using Kind = Runner::Kind;

/// The time that an engine has to end its tasks once it is told to stop.
constexpr std::chrono::milliseconds kGrace{10'000};
/// The interval at which the progress of an engine is read from the store.
constexpr std::chrono::milliseconds kPollInterval{2'000};
/// An engine may queue tasks for as long as its cluster likes.
constexpr std::chrono::milliseconds kNoEnd = std::chrono::hours(24 * 365 * 10);

/// Claims no task, so that the caller only waits and reports progress.
class NoClaims : public TaskClaims {
 public:
  Result<bool> claim(std::uint64_t) override { return false; }
  void release(std::uint64_t) override {}
};

std::string_view engine_name(const Runner& runner) { return runner.kind == Kind::kRay ? "ray" : "beam"; }

/// Runs the adapter to its end. An adapter that fails prints the reason as a line of JSON.
Status run_adapter(const std::vector<std::string>& arguments, std::string_view engine,
                   const EngineStart& start, const std::stop_token& stop) {
  HEADRACE_TRY(const std::string package, start.python_package());
  std::string failure;
  ChildConversation conversation;
  conversation.silence_max = kNoEnd;
  conversation.on_line = [&](std::string_view line) -> Result<std::string> {
    const Json said = parse_json(line).value_or(Json());
    if (said["error"].is_string()) failure = said["error"].text();
    return std::string();
  };
  conversation.on_error_line = start.note;
  const ChildLimits limits{.stop = stop, .grace = kGrace};
  HEADRACE_TRY(const ChildResult ended,
               converse_with_child(arguments, variables_with_package(package, *start.environment), limits,
                                   conversation));
  if (ended.exit_status == 0) return {};
  if (failure.empty())
    failure = concat("it ended with status ", ended.exit_status, "; its output above says why");
  return Error{Code::kUnknown, concat(engine, ": ", failure)};
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
  return Error{Code::kInvalidArgument,
               concat("--runner must be local, local:THREADS, store, ranks, ray, ray://HOST:PORT, beam or "
                      "beam:RUNNER; it is ",
                      text)};
}

Status run_engine(PlanTasks& tasks, const Runner& runner, const EngineStart& start,
                  const PrepareProgress& progress) {
  HEADRACE_TRY(const std::string python, find_python(*start.environment));
  std::vector<std::string> arguments = {python, "-m", concat("headrace._src.runners.", engine_name(runner)),
                                        tasks.context().output.url.text(),
                                        concat("--target=", runner.target)};
  for (const std::string& option : start.options) arguments.push_back(concat("--option=", option));
  for (const std::string& option : start.execute_options)
    arguments.push_back(concat("--execute-option=", option));
  // The store shows the progress of the tasks, whichever process executes them.
  std::jthread watching([&](const std::stop_token& stop) {
    TaskContext context = tasks.context();
    context.stop = stop;
    PlanTasks watched(context, tasks.options());
    NoClaims none;
    // Errors of the plan or the store are reported by the engine's own tasks.
    static_cast<void>(
        run_tasks(watched, none, {.poll_interval = kPollInterval, .patience = kNoEnd}, progress));
  });
  return run_adapter(arguments, engine_name(runner), start, tasks.context().stop);
}

}  // namespace headrace
