#pragma once

/// \file The commands that write and read logs below memory://out/x: metrics of runs, requests of servers.

#include <chrono>
#include <vector>

#include "tests/interleave/commands.h"

namespace headrace::interleave {

/// How a command waits for a thread of its own, in real time: so long, so often.
inline constexpr std::chrono::microseconds kLookEach{50};
inline constexpr int kMostLooks = 1'000'000;

/// A program that logs metrics into the run "r" of the root memory://out/x, few or many; and what others do
/// with them.
std::vector<TestCommand> metric_commands();

/// A server that logs the requests of the model "m" at memory://out/x/requests, and who reads them.
std::vector<TestCommand> request_log_commands();

}  // namespace headrace::interleave
