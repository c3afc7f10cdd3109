#pragma once

/// \file The metrics of an epoch as JSON: docs/formats/run-layout.md.

#include <cstdint>

#include "headrace/base/json.h"
#include "headrace/track/json_number.h"
#include "headrace/train/train.h"

namespace headrace {

inline Json metrics_to_json(const EpochMetrics& metrics) {
  Json out = {{"epoch", metrics.epoch}, {"step", metrics.step}};
  for (const auto& [name, value] : metrics.values) out[name] = number_to_json(value);
  return out;
}

/// \throws JsonError  `from` is not an object of numbers with "epoch" and "step"
inline EpochMetrics metrics_from_json(const Json& from) {
  EpochMetrics metrics{.epoch = from.get<std::uint64_t>("epoch"), .step = from.get<std::uint64_t>("step")};
  for (const auto& [name, value] : from.members()) {
    if (name != "epoch" && name != "step") metrics.values[name] = number_from_json(value);
  }
  return metrics;
}

}  // namespace headrace
