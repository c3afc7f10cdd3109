#pragma once

/// \file The configuration that a result was started with: kept with it, so that the same command continues
/// it and another one is refused.

#include <map>
#include <string>

#include "headrace/store/registry.h"

namespace headrace {

/// Option name → value, as people would type them, plus what else decides the bytes that come out.
using Configuration = std::map<std::string, std::string>;

/// SHA-256 (hex) of the canonical JSON of the configuration.
std::string configuration_digest(const Configuration& configuration);

/// \error kNotFound, kDataLoss
Result<Configuration> read_configuration(const Location& object);

enum class Claim : std::uint8_t {
  kFresh,    // nobody had started here
  kResumed,  // the same configuration had been started
};

/// Creates `object` with the configuration, or compares with the one that is there.
/// \error kFailedPrecondition  another configuration is there: the message names each difference
Result<Claim> claim_configuration(const Location& object, const Configuration& configuration);

}  // namespace headrace
