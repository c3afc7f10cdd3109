#pragma once

/// \file A server's models, their releases and its configuration, as operators see them.

#include <string>

#include "headrace/base/json.h"
#include "headrace/cli/servers/serve/served_models.h"

namespace headrace {

/// By the names of models: versions, labels, the canary. Under "/configuration", which no model can be
/// called, the state of the configuration file, if there is one.
Json models_json(const ServedModels& models);

/// The metrics of releases and of the configuration, in Prometheus' text format.
std::string release_metrics(const ServedModels& models);

}  // namespace headrace
