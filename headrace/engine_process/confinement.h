#pragma once

/// \file Takes rights away from this process that no model needs: a SavedModel is an untrusted program.

#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// Confines this process, for good. None of its threads can open sockets, start programs, or access other
/// processes any more (seccomp(2)). Where the kernel has landlock(7), the calling thread and all threads that
/// start after it can open files only for reading, and only below `readable` and in the system's own folders;
/// threads that already run keep their access to files.
/// Returns a description of the limits that hold now, for people.
/// \error kUnavailable  the kernel refuses seccomp: the model must not be loaded
Result<std::string> confine_process(const std::vector<std::string>& readable);

}  // namespace headrace
