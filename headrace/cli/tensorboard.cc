// headrace tensorboard: our data server and the stock TensorBoard beside each other. docs/tensorboard.md.

#include <unistd.h>

#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/sibling_program.h"
#include "headrace/os/child_process.h"
#include "headrace/os/python_program.h"

namespace headrace {
namespace {

constexpr std::string_view kServer = "headrace-tensorboard-data";
constexpr std::string_view kListening = "listening on ";
/// TensorBoard, which ends when the end of this process closes its standard input.
constexpr std::string_view kTensorboard =
    "import os, runpy, signal, sys, threading\n"
    "def end_with_parent():\n"
    "    sys.stdin.buffer.read()\n"
    "    os.kill(os.getpid(), signal.SIGTERM)\n"
    "threading.Thread(target=end_with_parent, daemon=True).start()\n"
    "runpy.run_module('tensorboard.main', run_name='__main__', alter_sys=True)\n";
/// A server may be silent for as long as it lives.
constexpr std::chrono::milliseconds kNoSilence = std::chrono::hours(24 * 365 * 10);
constexpr std::chrono::milliseconds kTensorboardGrace{3'000};

constexpr Positional kTensorboardPositionals[] = {
    {.name = "URL", .sentence = "The log folder, in any store."},
    {.name = "OPTION",
     .sentence = "Further options of tensorboard, after --.",
     .required = false,
     .repeated = true}};

constexpr Option kTensorboardOptions[] = {
    {.name = "port",
     .type = OptionType::kInteger,
     .default_value = "6006",
     .unit = "PORT",
     .sentence = "Port on which TensorBoard listens; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "host",
     .default_value = "127.0.0.1",
     .unit = "ADDRESS",
     .sentence = "Address on which it listens. Anyone who can reach it sees the logs."}};

using Variables = std::map<std::string, std::string, std::less<>>;

Status check_tensorboard(const std::string& python, const Variables& variables, const std::stop_token& stop) {
  ChildLimits limits;
  limits.stop = stop;
  constexpr std::string_view kAsk =
      "import importlib.util, sys; sys.exit(importlib.util.find_spec('tensorboard') is None)";
  HEADRACE_TRY(const ChildResult asked, run_child({python, "-c", std::string(kAsk)}, variables, limits));
  if (asked.exit_status == 0) return {};
  return Error{Code::kFailedPrecondition, concat("TensorBoard is not installed in ", python, ": ", python,
                                                 " -m pip install tensorboard")};
}

/// Two programs that end together.
class Pair {
 public:
  Pair(CommandContext& context, const Variables& variables)
      : context_(context),
        variables_(variables),
        on_signal_(context.stop, [this] { stop_.request_stop(); }) {}

  /// Runs a program to its end, and then stops the other.
  Status run(const std::vector<std::string>& arguments, std::string_view name,
             const std::function<void(std::string_view)>& on_line) {
    ChildLimits limits;
    limits.stop = stop_.get_token();
    limits.grace = kTensorboardGrace;
    ChildConversation conversation;
    conversation.silence_max = kNoSilence;
    conversation.on_line = [&](std::string_view line) -> Result<std::string> {
      on_line(line);
      return std::string();
    };
    conversation.on_error_line = [&](std::string_view line) { context_.console.note(line); };
    const Result<ChildResult> ended = converse_with_child(arguments, variables_, limits, conversation);
    const bool was_stopped = stop_.stop_requested();
    stop_.request_stop();
    if (was_stopped) return {};
    if (!ended) return ended.error();
    if (ended->exit_status == 0) return {};
    return Error{Code::kUnknown, concat(name, " ended with exit code ", ended->exit_status)};
  }

 private:
  CommandContext& context_;
  const Variables& variables_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> on_signal_;
};

std::vector<std::string> tensorboard_arguments(const std::string& python, const std::string& address,
                                               const std::vector<std::string>& arguments,
                                               const OptionValues& options) {
  std::vector<std::string> out = {python,
                                  "-c",
                                  std::string(kTensorboard),
                                  concat("--grpc_data_provider=", address),
                                  concat("--port=", options.integer("port")),
                                  concat("--host=", options.text("host"))};
  out.insert(out.end(), arguments.begin() + 1, arguments.end());
  return out;
}

Status run_tensorboard(CommandContext& context, const std::vector<std::string>& arguments,
                       const OptionValues& options) {
  HEADRACE_TRY(const Location folder, context.stores.open(arguments[0]));  // refuses what is not a URL
  HEADRACE_TRY(const std::string server,
               find_sibling_program(kServer, "without gRPC and protobuf", context.environment));
  HEADRACE_TRY(const std::string python, find_python(context.environment));
  const Variables& variables = context.environment.variables;
  HEADRACE_CHECK(check_tensorboard(python, variables, context.stop));

  Pair pair(context, variables);
  std::promise<std::string> address;
  bool is_told = false;
  Status served;
  std::thread serving([&] {
    served = pair.run({server, "--log-folder", arguments[0], "--port", "0", "--die-after-stdin"}, kServer,
                      [&](std::string_view line) {
                        if (is_told || !line.starts_with(kListening)) return;
                        is_told = true;
                        address.set_value(std::string(line.substr(kListening.size())));
                      });
    if (!is_told) address.set_value("");
  });
  const std::string where = address.get_future().get();
  Status shown;
  if (!where.empty()) {
    shown = pair.run(tensorboard_arguments(python, where, arguments, options), "tensorboard",
                     [&](std::string_view line) { context.console.result(line); });
  }
  serving.join();
  return shown ? served : shown;
}

}  // namespace

extern const Command kTensorboardCommand;
const Command kTensorboardCommand = {
    .name = "tensorboard",
    .summary = "Show the event files below a URL, and the runs recorded there, in TensorBoard",
    .details =
        "Starts a data server that follows the log folder, and the TensorBoard of HEADRACE_PYTHON, else of "
        "python3, which queries it. Both end together, on SIGINT and SIGTERM.\n"
        "Metrics of hr.init in the folder itself are shown as the runs _headrace/metrics/RUN.\n"
        "  headrace tensorboard s3://experiments/logs\n"
        "  headrace tensorboard ./logs --port 7007 -- --window_title Reviews",
    .positionals = kTensorboardPositionals,
    .options = kTensorboardOptions,
    .run = run_tensorboard};

}  // namespace headrace
