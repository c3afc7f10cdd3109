#pragma once

/// \file Describes a server's models, their releases and its configuration, for operators.

#include <string>

#include "headrace/base/json.h"
#include "headrace/cli/servers/serve/served_models.h"

namespace headrace {

/// An object with a member for each model: versions, labels, the canary. The member "/configuration", which
/// cannot be a model's name, has the state of the configuration file, if there is one.
Json models_json(const ServedModels& models);

/// The metrics of releases and of the configuration, in Prometheus' text format.
std::string release_metrics(const ServedModels& models);

}  // namespace headrace
