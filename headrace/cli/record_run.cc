#include "headrace/cli/record_run.h"

#include <fstream>
#include <thread>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  }
  return "unknown";
}

std::map<std::string, std::string> parameters_of(const OptionValues& values) {
  std::map<std::string, std::string> parameters;
  for (const Option& option : values.table()) {
    if (values.has(option.name)) parameters[std::string(option.name)] = values.shown(option.name);
  }
  return parameters;
}

}  // namespace

Status record_run(CommandContext& context, std::string_view command, const Location& output,
                  const OptionValues& values, const std::function<Status(RunRecorder&, RunEnd&)>& body) {
  RunStart start{.command = std::string(command),
                 .command_line = context.command_line,
                 .parameters = parameters_of(values)};
  start.versions["headrace"] = HEADRACE_VERSION;
  start.host = {{"cores", concat(std::thread::hardware_concurrency())}, {"processor", processor_name()}};
  const RecorderOptions options{
      .root_url = values.text("track"), .now = context.environment.now, .call = context.call()};
  HEADRACE_TRY(RunRecorder recorder, RunRecorder::start(context.stores, output, std::move(start), options));
  RunEnd end;
  Status outcome = body(recorder, end);
  if (!outcome && outcome.error().code == Code::kCancelled) {
    outcome = Error{Code::kCancelled, concat(outcome.error().message, "; the same command continues")};
  }
  return recorder.finish(outcome, std::move(end));
}

}  // namespace headrace
