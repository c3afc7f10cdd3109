#pragma once

/// \file Takes rights away from this process that no model needs: a SavedModel is an untrusted program.

#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Confines all threads of this process, for good. They can no longer open sockets, start programs, or
/// access other processes (seccomp(2)). Where the kernel has landlock(7), they can also open files only for
/// reading, and only below `readable` and in the system's own folders.
/// Returns a description of the limits that hold now, for people.
/// \error kUnavailable  the kernel refuses seccomp: the model must not be loaded
Result<std::string> confine_process(const std::vector<std::string>& readable);

}  // namespace headrace
