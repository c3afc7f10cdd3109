#pragma once

/// \file `headrace serve --print-manifest`: what runs the server on other machines.

#include <string>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/base/result.h"

namespace headrace {

/// For `values.text("print-manifest")`: a Deployment of Kubernetes with its Service, PodDisruptionBudget and
/// HorizontalPodAutoscaler; a Compose file; or a Dockerfile. Each serves `models` with the options that were
/// given, on all addresses of the container.
/// \error kInvalidArgument  an argument is not UTF-8, and these files have no other texts; an option names a
///                          file of this machine, which a container does not have
Result<std::string> serve_manifest(const std::vector<std::string>& models, const OptionValues& values);

}  // namespace headrace
