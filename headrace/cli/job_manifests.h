#pragma once

/// \file `headrace prepare --print-manifest`: manifests that start the command on many machines.

#include <string>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// The manifest that --print-manifest names: an Indexed Job for Kubernetes (batch/v1), a script for sbatch,
/// or a Dockerfile. The first two run `headrace prepare FROM TO` with the options that were given, and with
/// --runner ranks unless a runner was given.
/// \error kInvalidArgument  an argument is not UTF-8, which Kubernetes requires
Result<std::string> job_manifest(const std::string& from, const std::string& to, const OptionValues& values);

}  // namespace headrace
