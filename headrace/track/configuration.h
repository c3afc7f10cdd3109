#pragma once

/// \file The configuration that a result was started with: kept with it, so that the same command continues
/// it and another one is refused.

#include <map>
#include <string>

#include "headrace/store/location.h"

namespace headrace {

/// Option name → value, as people would type them, plus what else decides the bytes that come out.
using Configuration = std::map<std::string, std::string>;

/// SHA-256 (hex) of the canonical JSON of the configuration.
std::string configuration_digest(const Configuration& configuration);

/// \error kNotFound, kDataLoss
Result<Configuration> read_configuration(const Location& object);

/// \error kFailedPrecondition  `object` holds another one: the message names each difference
/// \error kNotFound, kDataLoss
Status check_configuration(const Location& object, const Configuration& configuration);

/// Writes `object`, whatever was there.
Status replace_configuration(const Location& object, const Configuration& configuration);

/// Creates `object` with the configuration, or checks the one that is there.
/// \error kFailedPrecondition  as `check_configuration`
Status claim_configuration(const Location& object, const Configuration& configuration);

}  // namespace headrace
