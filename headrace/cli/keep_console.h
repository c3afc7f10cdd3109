#pragma once

/// \file Keeps the console output of a command with the record of its run. docs/formats/run-console.md.

#include <functional>

#include "headrace/cli/command.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// Runs `body` and returns its result. Keeps all lines that the console gets meanwhile, including those that
/// --quiet hides. If the store does not take them, warns and continues.
/// \error of the store, if the record cannot say that the console is kept; then `body` is not run
Status keep_console(CommandContext& context, RunRecorder& recorder, const std::function<Status()>& body);

}  // namespace headrace
