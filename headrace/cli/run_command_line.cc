#include <unistd.h>

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/command.h"
#include "headrace/cli/help.h"
#include "headrace/cli/parse.h"
#include "headrace/store/layers/metered.h"

namespace headrace {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

// Prints the error, if there is one, and returns the exit code.
int finish(Console& console, Status outcome) {
  const Status flushed = console.flush();
  if (outcome && flushed) return kDone;
  // The reader has closed the pipe, which stopped the command, so there is nothing to report.
  if (!flushed && flushed.error().code == Code::kCancelled) return kFailed;
  console.error(outcome ? flushed.error() : outcome.error());
  return kFailed;
}

// Where the counters of store requests go; none if nobody asked for them.
Result<std::optional<Location>> metrics_place(StoreRegistry& stores, const std::string& url) {
  if (url.empty()) return std::optional<Location>();
  Result<Location> place = stores.open(url);
  if (!place) return std::move(place).error().in("--metrics");
  HEADRACE_CHECK(check_key(place->key));
  return std::optional(*std::move(place));
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Environment& environment,
                     const std::stop_source& stop) {
  const std::span<const std::string> words = std::span(arguments).subspan(arguments.empty() ? 0 : 1);
  ConsoleOptions console_options = {.draws = isatty(STDERR_FILENO) == 1,
                                    .quotes_names = isatty(STDOUT_FILENO) == 1,
                                    .can_ask = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1,
                                    .tells_errors_once = environment.get("HEADRACE_ERRORS") == "json",
                                    .stop = stop};
  if (words.size() == 1 && (words[0] == "--version" || words[0] == "version")) {
    Console console(console_options);
    console.result(concat("headrace ", HEADRACE_VERSION));
    return finish(console, {});
  }
  auto line = parse_command_line(all_commands(), words);
  if (!line) {
    console_options.json = std::ranges::find(words, "--json") != words.end();
    Console console(console_options);
    console.error(line.error());
    return kWrongCommandLine;
  }
  console_options.json = line->common.flag("json");
  console_options.quiet = line->common.flag("quiet");
  Console console(console_options);
  if (line->command == nullptr || line->common.flag("help")) {
    const std::string text =
        line->command == nullptr ? overview(all_commands(), line->help_topic) : command_help(*line->command);
    return finish(console, console.result_bytes(as_bytes(text)));
  }
  if (line->command->check != nullptr) {
    if (const Status fits = line->command->check(line->options); !fits) {
      console.error(fits.error());
      return kWrongCommandLine;
    }
  }
  StoreRegistry stores(environment, [&](const std::string& warning) { console.warn(warning); });
  CommandContext context{environment, stores, console, arguments, stop.get_token()};
  const auto metrics = metrics_place(stores, line->common.text("metrics"));
  if (!metrics) {
    console.error(metrics.error());
    return kWrongCommandLine;
  }
  Status outcome = line->command->run(context, line->arguments, line->options);
  if (*metrics) {
    const auto written = write_text(*(*metrics)->store, (*metrics)->key, prometheus_of(stores.counters()));
    if (!written) console.warn(concat("--metrics: ", written.error().message));
  }
  return finish(console, std::move(outcome));
}

}  // namespace headrace
