#pragma once

/// \file The configuration of a result: everything that decides its bytes. It is stored with the result, so
/// that the same command continues the result and a command with other options is refused.

#include <map>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

/// Option name → value as typed on the command line, and all other facts that decide the bytes of the result.
using Configuration = std::map<std::string, std::string>;

/// SHA-256 (hex) of the canonical JSON of the configuration.
std::string configuration_digest(const Configuration& configuration);

/// Checks that two configurations are equal. `what` names, for the message, the result that was started with
/// `before`.
/// \error kFailedPrecondition  they differ; the message lists each difference
Status check_same(const Configuration& before, const Configuration& now, const std::string& what);

/// Reads a configuration from an object of its own. Outputs had such an object before they had chains.
/// \error kNotFound  there is no such object
/// \error kDataLoss  the object is damaged
Result<Configuration> read_configuration(const Location& object);

}  // namespace headrace
