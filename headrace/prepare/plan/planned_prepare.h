#pragma once

/// \file A plan with what carries it out on this machine: encoders, and processes for a map.

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "headrace/engine/encoders.h"
#include "headrace/prepare/map/map_pool.h"
#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

struct PlannedPrepare {
  PreparePlan plan;
  TextEncoders encoders{};
  std::unique_ptr<MapPool> map{};  // if the plan has one
  /// Its schema is what the first rows tell, since none was named.
  bool has_inferred_schema = false;
};

/// What plans are made with. Borrowed, but for the values.
struct PlanningContext {
  StoreRegistry& stores;
  const Environment& environment;
  EncoderSources encoders{};
  /// Gives the folder of the Python package that belongs to this program; asked only where a plan has a map.
  std::function<Result<std::string>()> python_package{};
  std::chrono::milliseconds map_row_timeout{60'000};
  std::stop_token stop{};
};

/// The encoders that the schema names.
/// \error as make_text_encoder
Result<TextEncoders> make_encoders(const Schema& schema, const EncoderSources& sources);

/// What this machine has must be what the plan was made with.
/// \error kFailedPrecondition  other weights: names the encoder
Status check_encoders(const PreparePlan& plan, const TextEncoders& encoders);

/// What runs the plan's map; null if it has none. Starts nothing.
/// \error kNotFound  there is no Python
Result<std::unique_ptr<MapPool>> make_map_pool(const PreparePlan& plan, const PlanningContext& context);

}  // namespace headrace
