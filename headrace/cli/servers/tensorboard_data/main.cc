// headrace-tensorboard-data: TensorBoard's data server for a log folder in any store. docs/tensorboard.md.

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/servers/tensorboard_data/data_server.h"
#include "headrace/cli/servers/tensorboard_data/follow.h"
#include "headrace/cli/stop_on_signal.h"

namespace headrace {
namespace {

/// How long running calls may continue when the server is stopped.
constexpr std::chrono::milliseconds kGrace{500};

constexpr Option kOptions[] = {
    {.name = "log-folder", .unit = "URL", .sentence = "The folder whose event files are shown."},
    {.name = "host",
     .default_value = "127.0.0.1",
     .unit = "ADDRESS",
     .sentence =
         "Address on which to listen. Anyone who can reach it sees the logs: there is no authentication."},
    {.name = "port",
     .type = OptionType::kInteger,
     .default_value = "6806",
     .unit = "PORT",
     .sentence = "Port on which to listen; 0: any free port.",
     .minimum = 0,
     .maximum = 65535},
    {.name = "port-file",
     .unit = "FILE",
     .sentence = "File that gets the port, in decimal, when the server listens on it."},
    {.name = "die-after-stdin",
     .type = OptionType::kFlag,
     .sentence =
         "End when standard input ends, so that the server does not outlive the process that started it."}};

Status write_port(const std::string& path, int port) {
  if (path.empty()) return {};
  const std::string unfinished = path + ".new";
  std::ofstream(unfinished) << port << '\n';
  if (std::rename(unfinished.c_str(), path.c_str()) == 0) return {};
  return Error{Code::kUnavailable, concat("--port-file: cannot write ", path)};
}

/// Requests a stop when standard input ends. Returns then, or when a stop is requested otherwise.
void watch_input(const std::stop_source& stop) {
  constexpr int kLookAgainMs = 200;
  std::array<char, 4096> bytes{};
  while (!stop.stop_requested()) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLookAgainMs) <= 0) continue;
    if (read(STDIN_FILENO, bytes.data(), bytes.size()) <= 0) std::stop_source(stop).request_stop();
  }
}

Status serve(CommandContext& context, const std::vector<std::string>&, const OptionValues& options) {
  const auto tell = [&](const std::string& line) { context.console.warn(line); };
  HEADRACE_TRY(const Location place, context.stores.open(options.text("log-folder")));
  SegmentRuns segments(place);
  LogFolder folder(place, {.blob_secret = {random_name_bits(), random_name_bits()},
                           .other_object = [&](const ObjectInfo& object) { segments.listed(object); },
                           .warn = tell});
  HEADRACE_TRY(const std::unique_ptr<DataServer> server,
               DataServer::start(folder, options.text("host"), static_cast<int>(options.integer("port"))));
  HEADRACE_CHECK(write_port(options.text("port-file"), server->port()));
  context.console.result(concat("listening on ", options.text("host"), ":", server->port()));
  HEADRACE_CHECK(context.console.flush());

  std::stop_source stop;
  const std::stop_callback on_signal(context.stop, [&] { stop.request_stop(); });
  std::thread input;
  if (options.flag("die-after-stdin")) input = std::thread([&] { watch_input(stop); });
  std::uint64_t polls = 0;
  follow(folder, segments, tell, polls, stop.get_token());
  server->stop(kGrace);
  stop.request_stop();
  if (input.joinable()) input.join();
  context.console.note(concat("listed the folder ", polls, " times"));
  return {};
}

Status check(const OptionValues& options) {
  if (options.given("log-folder")) return {};
  return Error{Code::kInvalidArgument, "--log-folder URL is missing: the folder whose event files are shown"};
}

const Command kServeCommand = {
    .name = "tensorboard-data",
    .summary = "Serve a log folder in any store to TensorBoard",
    .details =
        "Follows the event files below a URL, and the metrics of runs that are recorded there, and answers\n"
        "TensorBoard's requests:\n"
        "  headrace-tensorboard-data --log-folder s3://experiments/logs --port 6806\n"
        "  tensorboard --grpc_data_provider=127.0.0.1:6806\n"
        "`headrace tensorboard URL` starts both.",
    .options = kOptions,
    .run = serve,
    .check = check};

}  // namespace

// The only command of this program, whose name is that of the program.
std::span<const Command* const> all_commands() {
  static constexpr const Command* kCommands[] = {&kServeCommand};
  return kCommands;
}

}  // namespace headrace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone makes a write fail, and does not end the process
  const auto environment = headrace::Environment::capture();
  const headrace::StopOnSignal stop;
  std::vector<std::string> words(argv, argv + argc);
  if (words.empty()) words.emplace_back("headrace-tensorboard-data");
  if (words.size() != 2 || words[1] != "--version") words.insert(words.begin() + 1, "tensorboard-data");
  return headrace::run_command_line(words, environment, stop.source());
}
