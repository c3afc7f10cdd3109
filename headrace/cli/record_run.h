#pragma once

/// \file Runs the body of a stage and records the run.

#include <functional>
#include <string_view>

#include "headrace/cli/command.h"
#include "headrace/coordinate/actor.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// For stages: the id of the run; see docs/formats/run-record.md.
inline constexpr Option kRunIdOption = {
    .name = "run-id",
    .unit = "ID",
    .sentence = "Id of the run; give a job that is started again the same id. Default: a new id."};

/// Starts the record, warns of its remarks, runs `body`, and finishes the record with its outcome, also if
/// `body` failed or was stopped. Returns the outcome. The parameters of the record are the option values;
/// versions and host are filled in. `options`: rank, ranks, and which run this one continues. Without
/// --run-id, each process is a run of its own, whatever its rank.
Status record_run(CommandContext& context, std::string_view command, const Location& output,
                  const OptionValues& values, const std::function<Status(RunRecorder&, RunEnd&)>& body,
                  RecorderOptions options = {});

/// Describes this process for entries of ownership.
Actor actor_of(const CommandContext& context, std::string_view command, const RunRecorder& recorder);

}  // namespace headrace
