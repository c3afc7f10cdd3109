#include "headrace/os/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {

namespace {

Error no_stream() { return {Code::kResourceExhausted, concat("opening a pipe: ", std::strerror(errno))}; }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<StreamEnds> open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return no_stream();
  return StreamEnds{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<StreamEnds> open_socket() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_stream();
  return StreamEnds{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

Result<pid_t> spawn(std::vector<std::string> arguments,
                    const std::map<std::string, std::string, std::less<>>& environment,
                    const ChildStreams& streams) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(concat(name, '=', value));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (streams.input >= 0) {
    posix_spawn_file_actions_adddup2(&actions, streams.input, STDIN_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
  if (streams.errors >= 0) posix_spawn_file_actions_adddup2(&actions, streams.errors, STDERR_FILENO);
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

bool is_to_be_reaped(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == child;
}

int reap(pid_t child) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
  return state;
}

int kill_and_reap(pid_t child) {
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  return reap(child);
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return concat("exit status ", WEXITSTATUS(status));
  return concat("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
}

}  // namespace headrace
