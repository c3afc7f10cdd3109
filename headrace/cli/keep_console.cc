#include "headrace/cli/keep_console.h"

#include "headrace/base/text.h"
#include "headrace/os/background.h"
#include "headrace/track/console_log.h"
#include "headrace/track/run_keys.h"

namespace headrace {

Status keep_console(CommandContext& context, RunRecorder& recorder, const std::function<Status()>& body) {
  const Location folder = recorder.root().at(concat(kConsolePrefix, recorder.run_id(), "/", recorder.part()));
  HEADRACE_CHECK(recorder.add_series(
      {.name = "console", .url = recorded_url(folder), .kind = std::string(kConsoleKind)}));
  Background background(1);
  const auto log =
      ConsoleLog::open(folder, recorder.run_id(), {.wall_clock = context.environment.now}, background);
  context.console.copy_lines_to([&](bool is_error_stream, std::string_view line) {
    log->add(is_error_stream ? ConsoleStream::kError : ConsoleStream::kOutput, line);
  });
  Status outcome = body();
  context.console.copy_lines_to({});
  if (const Status kept = log->close(); !kept)
    context.console.warn(concat("the last lines of the console are not kept: ", kept.error().message));
  return outcome;
}

}  // namespace headrace
