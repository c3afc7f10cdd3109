#pragma once

/// \file Keeps what a command prints with the record of its run: docs/formats/run-console.md.

#include <functional>

#include "headrace/cli/command.h"
#include "headrace/track/recorder.h"

namespace headrace {

/// Runs `body`. The lines that the console shows meanwhile are kept, also those that --quiet hides. If the
/// store does not take them, the command warns and goes on. Returns what `body` does.
/// \error of the store, when the record cannot say that the console is kept
Status keep_console(CommandContext& context, RunRecorder& recorder, const std::function<Status()>& body);

}  // namespace headrace
