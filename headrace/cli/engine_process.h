#pragma once

/// \file `headrace engine-process`: the other side of a server's RemoteEngine. People do not start it.

#include "headrace/base/environment.h"

namespace headrace {

inline constexpr std::string_view kEngineProcessWord = "engine-process";

/// Hosts one model for the server at standard input, until that has gone. Returns the exit code.
int run_engine_process(const Environment& environment);

}  // namespace headrace
