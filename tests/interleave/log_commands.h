#pragma once

/// \file The commands that write and read logs and artifacts below memory://out/x: metrics of runs, requests
/// of servers, versions of artifacts; and those that measure learning curves.

#include <chrono>
#include <vector>

#include "headrace/track/recorder.h"
#include "tests/interleave/commands.h"
#include "tests/interleave/process.h"

namespace headrace::interleave {

/// How a command waits for a thread of its own, in real time: so long, so often.
inline constexpr std::chrono::microseconds kLookEach{50};
inline constexpr int kMostLooks = 1'000'000;

/// As hr.init: the run of that id below memory://out/x.
Result<RunRecorder> start_logging_run(Process& process, std::string_view id);

/// A program that logs metrics into the run "r" of the root memory://out/x, few or many; and what others do
/// with them.
std::vector<TestCommand> metric_commands();

/// A program that logs media into the run "r", of which "metrics-recover" writes what a kill leaves, too.
/// Segments but the first begin with the header; then come values of 8 bytes.
inline constexpr std::string_view kMediaHeader = "head";
std::vector<TestCommand> media_commands();

/// A server that logs the requests of the model "m" at memory://out/x/requests, and who reads them.
std::vector<TestCommand> request_log_commands();

/// Programs that log versions of the artifact "cats" below memory://out/x, and what others do with it.
std::vector<TestCommand> artifact_commands();

/// `headrace learning-curve` with the folder memory://out/x, for the same sizes, stratified or not: both need
/// the score of all records.
std::vector<TestCommand> curve_commands();

}  // namespace headrace::interleave
