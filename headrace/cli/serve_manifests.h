#pragma once

/// \file `headrace serve --print-manifest`: manifests that run the server on other machines.

#include <string>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// The manifest that --print-manifest names: for Kubernetes, a Deployment with its Service,
/// PodDisruptionBudget and HorizontalPodAutoscaler; a Compose file; or a Dockerfile. The server serves
/// `models` with the options that were given, on all addresses of its container.
/// \error kInvalidArgument  an argument is not UTF-8, which these files require; or an option names a local
///                          file, which a container does not have
Result<std::string> serve_manifest(const std::vector<std::string>& models, const OptionValues& values);

}  // namespace headrace
