#include <csignal>

#include "headrace/cli/command.h"
#include "headrace/cli/engine_process.h"
#include "headrace/cli/stop_on_signal.h"
#include "headrace/engine/tensorflow/tensorflow.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone makes a write fail, and does not end the process
  std::signal(SIGXFSZ, SIG_IGN);  // the same for a file that may not grow
  const auto environment = headrace::Environment::capture();
  headrace::set_tensorflow_environment();  // called while there is only this thread
  if (argc == 2 && argv[1] == headrace::kEngineProcessWord) return headrace::run_engine_process(environment);
  const headrace::StopOnSignal stop;
  return headrace::run_command_line({argv, argv + argc}, environment, stop.source());
}
