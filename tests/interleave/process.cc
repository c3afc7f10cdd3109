#include "tests/interleave/process.h"

#include <atomic>

#include "headrace/base/text.h"
#include "tests/interleave/local_folder.h"

namespace headrace::interleave {
namespace {

using std::chrono::seconds;

Environment virtual_environment(const Surroundings& surroundings) {
  return {.variables = {{"TMPDIR", local_folder()}, {"XDG_STATE_HOME", surroundings.world.machine->path()}},
          .now = virtual_now};
}

}  // namespace

const std::string& local_folder() {
  static const LocalFolder folder;
  return folder.path();
}

std::chrono::system_clock::time_point virtual_now() {
  static std::atomic<std::int64_t> now = 1'800'000'000;
  return std::chrono::system_clock::time_point(seconds(++now));
}

std::function<std::chrono::steady_clock::time_point()> virtual_steady_clock(
    std::shared_ptr<StallControl> control) {
  using Clock = std::chrono::steady_clock;
  return [control = std::move(control), looks = std::make_shared<std::atomic<std::int64_t>>(0)] {
    if (control->was_killed()) return Clock::now() + std::chrono::hours(24);
    return Clock::time_point(seconds(++*looks)) - std::chrono::hours(24);
  };
}

Process::Process(const Surroundings& surroundings)
    : environment(virtual_environment(surroundings)), stores(environment), console({.quiet = true}) {
  const World& world = surroundings.world;
  stores.put(Url{"memory", "out", ""}, make_stalling(world.out, surroundings.control));
  stores.put(Url{"memory", "copy", ""}, world.copy);
  stores.put(Url{"memory", "data", ""}, world.data);
}

Status Process::with(const std::string& words, const Body& body) {
  const std::vector<std::string> all = split(words, ' ');
  HEADRACE_TRY(const ParsedCommandLine line, parse_command_line(all_commands(), all));
  if (line.command->check != nullptr) HEADRACE_CHECK(line.command->check(line.options));
  CommandContext context{environment, stores, console, all, {}};
  return body(context, line);
}

Status Process::run(const std::string& words) {
  return with(words, [](CommandContext& context, const ParsedCommandLine& line) {
    return line.command->run(context, line.arguments, line.options);
  });
}

TestCommand words(std::string_view name, std::string line, bool is_reader) {
  return {name, [line = std::move(line)](const Surroundings& in) { return Process(in).run(line); },
          is_reader};
}

}  // namespace headrace::interleave
