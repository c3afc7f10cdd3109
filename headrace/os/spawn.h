#pragma once

/// \file Starts a program, with streams between it and this process. No shell is involved.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// The two ends of a stream between two processes. Other programs that this process starts do not inherit
/// them.
struct StreamEnds {
  FileDescriptor ours;
  FileDescriptor theirs;
};

/// A stream from the program to this process.
/// \error kResourceExhausted  the system has no descriptor or memory left
Result<StreamEnds> open_pipe();
/// A stream in both directions.
/// \error kResourceExhausted  the system has no descriptor or memory left
Result<StreamEnds> open_socket();

/// The descriptors that become the program's standard streams. -1 for `input`: /dev/null. -1 for `errors`:
/// this process's standard error. `output` is required.
struct ChildStreams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

/// Starts the program `arguments[0]` (a path) with this environment, in this process's working folder and in
/// a process group of its own. Signals have their default actions, and none is blocked. The caller must wait
/// for the child (`reap` or `kill_and_reap`).
/// \error kNotFound  the program cannot be started
Result<pid_t> spawn(std::vector<std::string> arguments,
                    const std::map<std::string, std::string, std::less<>>& environment,
                    const ChildStreams& streams);

/// Whether a child has ended. Does not reap it, so that its process id stays taken.
bool is_to_be_reaped(pid_t child);

/// Waits until a child ends, and reaps it. Returns its status in the form of waitpid(2). A signal handler
/// does not end the wait.
int reap(pid_t child);
/// Kills a child and its process group, and reaps the child. The child dies even if it has joined another
/// group; processes that it has started there stay alive. Returns the status in the form of waitpid(2).
int kill_and_reap(pid_t child);

/// Describes a status in the form of waitpid(2): "exit status 3", "signal 11 (Segmentation fault)".
std::string describe_end(int status);

}  // namespace headrace
