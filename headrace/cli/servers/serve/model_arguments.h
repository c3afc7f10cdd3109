#pragma once

/// \file The models of a server as its command line gives them.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/options.h"
#include "headrace/serve/configuration/serving_configuration.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The options that hold for a model that says nothing itself.
/// \error kInvalidArgument  one is not allowed: names it
Result<ModelConfiguration> default_configuration(const OptionValues& options);

/// Models as they are given: URL, or NAME=URL.
/// \error kInvalidArgument  one has no name, a name is there twice, or a URL is none
Result<ServingConfiguration> configuration_of(const std::vector<std::string>& arguments,
                                              const ModelConfiguration& defaults, StoreRegistry& stores);

/// \error kInvalidArgument  it is no time above 0: names the option
Result<std::chrono::milliseconds> duration_option(const OptionValues& options, std::string_view name);

}  // namespace headrace
