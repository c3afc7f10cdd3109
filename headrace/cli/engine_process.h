#pragma once

/// \file `headrace engine-process`: the process behind a server's RemoteEngine. People do not start it.

#include "headrace/base/environment.h"

namespace headrace {

inline constexpr std::string_view kEngineProcessWord = "engine-process";

/// Runs one model for the server at standard input, until the server has gone. Returns the exit code.
int run_engine_process(const Environment& environment);

}  // namespace headrace
