#pragma once

/// \file Metrics of an epoch in JSON documents, as docs/formats/run-layout.md has them.

#include <cstdint>

#include "headrace/track/json_number.h"
#include "headrace/train/train.h"

namespace headrace {

template <typename Json>
Json metrics_to_json(const EpochMetrics& metrics) {
  Json out = {{"epoch", metrics.epoch}, {"step", metrics.step}};
  for (const auto& [name, value] : metrics.values) out[name] = number_to_json<Json>(value);
  return out;
}

/// Throws as Json does where it is not an object of numbers with those two.
template <typename Json>
EpochMetrics metrics_from_json(const Json& from) {
  EpochMetrics metrics{.epoch = from.at("epoch").template get<std::uint64_t>(),
                       .step = from.at("step").template get<std::uint64_t>()};
  for (const auto& [name, value] : from.items()) {
    if (name != "epoch" && name != "step") metrics.values[name] = number_from_json(value);
  }
  return metrics;
}

}  // namespace headrace
