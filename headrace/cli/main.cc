#include <csignal>

#include "headrace/cli/command.h"
#include "headrace/cli/stop_on_signal.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of the write, not the process's end
  const auto environment = headrace::Environment::capture();
  const headrace::StopOnSignal stop;
  return headrace::run_command_line({argv, argv + argc}, environment, stop.source());
}
