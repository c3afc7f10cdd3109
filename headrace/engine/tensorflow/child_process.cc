#include "headrace/engine/tensorflow/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/io/file_descriptor.h"

namespace headrace {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopCheckInterval{100};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error{Code::kResourceExhausted, concat("opening a pipe: ", std::strerror(errno))};
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

Result<pid_t> spawn(std::vector<std::string> arguments,
                    const std::map<std::string, std::string, std::less<>>& environment, const Pipe& output,
                    const Pipe& errors) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(concat(name, '=', value));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.write_end.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write_end.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t no_signals;
  sigset_t all_signals;
  sigemptyset(&no_signals);
  sigfillset(&all_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setsigdefault(&attributes, &all_signals);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failure = posix_spawn(&child, arguments[0].c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return Error{Code::kNotFound, concat("starting ", arguments[0], ": ", std::strerror(failure))};
  }
  return child;
}

/// Appends what is there; closes the descriptor at its end.
void read_available(FileDescriptor& from, std::string& into) {
  std::array<char, 16384> buffer;
  const ssize_t count = read(from.get(), buffer.data(), buffer.size());
  if (count > 0) {
    into.append(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    from.close();
  }
}

Status check_limits(const ChildLimits& limits, Clock::time_point end, const std::string& program,
                    std::size_t output_bytes) {
  if (limits.stop.stop_requested()) return Error{Code::kCancelled, concat("waiting for ", program)};
  if (Clock::now() >= end) {
    return Error{Code::kDeadlineExceeded,
                 concat(program, " did not end within ", limits.deadline.count(), " ms and was killed")};
  }
  if (output_bytes > limits.output_bytes_max) {
    return Error{Code::kResourceExhausted,
                 concat(program, " wrote more than ", limits.output_bytes_max, " bytes and was killed")};
  }
  return {};
}

Status collect(FileDescriptor& output, FileDescriptor& errors, const ChildLimits& limits,
               Clock::time_point end, const std::string& program, ChildResult& result) {
  while (output.get() >= 0 || errors.get() >= 0) {
    HEADRACE_CHECK(check_limits(limits, end, program, result.output.size()));
    std::array<pollfd, 2> waiting{pollfd{output.get(), POLLIN, 0}, pollfd{errors.get(), POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), static_cast<int>(kStopCheckInterval.count())) <= 0) continue;
    if (waiting[0].revents != 0) read_available(output, result.output);
    if (waiting[1].revents != 0) read_available(errors, result.error_tail);
    if (result.error_tail.size() > limits.error_tail_bytes) {
      result.error_tail.erase(0, result.error_tail.size() - limits.error_tail_bytes);
    }
  }
  return {};
}

/// The program has closed its output: it is about to end.
Status wait_for_end(pid_t child, const ChildLimits& limits, Clock::time_point end, const std::string& program,
                    ChildResult& result) {
  int state = 0;
  while (waitpid(child, &state, WNOHANG) == 0) {
    HEADRACE_CHECK(check_limits(limits, end, program, 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  result.exit_status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  return {};
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& arguments,
                              const std::map<std::string, std::string, std::less<>>& environment,
                              const ChildLimits& limits) {
  HEADRACE_TRY(Pipe output, open_pipe());
  HEADRACE_TRY(Pipe errors, open_pipe());
  HEADRACE_TRY(const pid_t child, spawn(arguments, environment, output, errors));
  output.write_end.close();
  errors.write_end.close();
  const Clock::time_point end = Clock::now() + limits.deadline;
  ChildResult result;
  Status status = collect(output.read_end, errors.read_end, limits, end, arguments[0], result);
  if (status) status = wait_for_end(child, limits, end, arguments[0], result);
  if (!status) {
    kill(-child, SIGKILL);
    waitpid(child, nullptr, 0);
    return std::move(status).error();
  }
  return result;
}

}  // namespace headrace
