#include "headrace/cli/stop_on_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace headrace {
namespace {

// A handler may do little: it writes a byte into a pipe, and a thread that reads the pipe does the rest.
int pipe_ends[2] = {-1, -1};
std::atomic<int> signals_seen = 0;

constexpr char kSignal = 's';
constexpr char kQuit = 'q';

void handle(int number) {
  const int before = errno;
  if (signals_seen.fetch_add(1) > 0) _exit(128 + number);
  constexpr char kText[] = "\nheadrace: stopping; interrupt again to stop at once\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  written = write(pipe_ends[1], &kSignal, 1);
  errno = before;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return;  // without it, signals end the process, as they do by default
  watcher_ = std::thread([this] {
    char byte = 0;
    while (read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR) continue;
    if (byte == kSignal) source_.request_stop();
  });
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

StopOnSignal::~StopOnSignal() {
  if (!watcher_.joinable()) return;
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &kQuit, 1);
  watcher_.join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace headrace
