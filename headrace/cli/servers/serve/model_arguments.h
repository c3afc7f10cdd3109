#pragma once

/// \file The models of a server, as the command line names them.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/serve/configuration/serving_configuration.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The configuration of a model that sets nothing itself.
/// \error kInvalidArgument  an option is not allowed: the message names it
Result<ModelConfiguration> default_configuration(const OptionValues& options);

/// The configuration for models that are given as URL or NAME=URL.
/// \error kInvalidArgument  a model has no name, a name occurs twice, or a text is not a URL
Result<ServingConfiguration> configuration_of(const std::vector<std::string>& arguments,
                                              const ModelConfiguration& defaults, StoreRegistry& stores);

/// The duration that an option gives.
/// \error kInvalidArgument  it is not a time above 0; the message names the option
Result<std::chrono::milliseconds> duration_option(const OptionValues& options, std::string_view name);

}  // namespace headrace
