#pragma once

/// \file Starts a program, with streams between it and this process. No shell is involved.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

/// The two ends of a stream between two processes. No other program inherits them.
struct StreamEnds {
  FileDescriptor ours;
  FileDescriptor theirs;
};

/// From the program to us.
/// \error kResourceExhausted
Result<StreamEnds> open_pipe();
/// Both ways.
/// \error kResourceExhausted
Result<StreamEnds> open_socket();

/// Descriptors that become the program's; -1: input is /dev/null, errors are ours.
struct ChildStreams {
  int input = -1;
  int output = -1;
  int errors = -1;
};

/// Starts `arguments[0]` (a path) with this environment, in this process's working folder and in a process
/// group of its own, with every signal reset. The caller must wait for the child.
/// \error kNotFound  it cannot be started
Result<pid_t> spawn(std::vector<std::string> arguments,
                    const std::map<std::string, std::string, std::less<>>& environment,
                    const ChildStreams& streams);

/// Whether a child has ended; its number stays taken until it is waited for.
bool is_to_be_reaped(pid_t child);

/// Waits for a child to end: its status, as waitpid gives it. No signal handler cuts the wait short.
int reap(pid_t child);
/// Kills a child and its process group, and waits for it. It dies even if it has joined another group; what
/// it started then lives on there.
int kill_and_reap(pid_t child);

/// A status as waitpid gives it, for people: "exit status 3", "signal 11 (Segmentation fault)".
std::string describe_end(int status);

}  // namespace headrace
