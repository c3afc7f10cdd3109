#pragma once

/// \file The configuration of a result: everything that decides its bytes. It is kept with the result, so
/// that the same command continues it and a command with other options is refused.

#include <map>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

/// Option name → value, as people would type them, plus what else decides the bytes that come out.
using Configuration = std::map<std::string, std::string>;

/// SHA-256 (hex) of the canonical JSON of the configuration.
std::string configuration_digest(const Configuration& configuration);

/// \error kFailedPrecondition  they differ: the message names each difference. `what` is what was started
///                             with `before`
Status check_same(const Configuration& before, const Configuration& now, const std::string& what);

/// A configuration that lies in an object of its own. Outputs had such a claim before they had chains.
/// \error kNotFound, kDataLoss
Result<Configuration> read_configuration(const Location& object);

}  // namespace headrace
