#pragma once

/// \file `headrace prepare --print-manifest`: what starts the command on many machines.

#include <string>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// For `values.text("print-manifest")`: an Indexed Job of Kubernetes (batch/v1), a script for sbatch, or a
/// Dockerfile. Each runs `headrace prepare FROM TO` with the options that were given, and with --runner ranks
/// if no runner was.
/// \error kInvalidArgument  an argument is not UTF-8, and Kubernetes has no other texts
Result<std::string> job_manifest(const std::string& from, const std::string& to, const OptionValues& values);

}  // namespace headrace
