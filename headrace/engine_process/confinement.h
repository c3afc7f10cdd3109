#pragma once

/// \file Takes from this process what a model has no use for: a SavedModel is a program of somebody else.

#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// From now on no thread of this process opens a socket, starts a program, or looks into another process
/// (seccomp(2)); and none opens a file but for reading below `readable` and in the system's own folders
/// (landlock(7)), where the kernel has that. There is no way back. Returns what holds now, for people.
/// \error kUnavailable  the kernel refuses seccomp: the model must not be loaded
Result<std::string> confine_process(const std::vector<std::string>& readable);

}  // namespace headrace
