#pragma once

/// \file A plan with the encoders and the map's processes that execute it on this machine.

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "headrace/engine/encoders.h"
#include "headrace/prepare/map/map_pool.h"
#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/schema/text_encoders.h"

namespace headrace {

struct PlannedPrepare {
  PreparePlan plan;
  TextEncoders encoders{};
  std::unique_ptr<MapPool> map{};  // set if the plan has a map
  /// True if the schema was inferred from a sample of the rows, since the request named none.
  bool has_inferred_schema = false;
  /// The remarks of infer_schema.
  std::vector<std::string> remarks{};
  /// The part of the input that names splits and that the request's shares replace: "column split", "folders
  /// of splits". Empty if there is none.
  std::string replaced_splits{};
};

/// The environment of planning. Borrows the stores and the environment.
struct PlanningContext {
  StoreRegistry& stores;
  const Environment& environment;
  EncoderSources encoders{};
  /// Returns the folder of the Python package that belongs to this program. Called only if a plan has a map.
  std::function<Result<std::string>()> python_package{};
  std::chrono::milliseconds map_row_timeout{60'000};
  std::stop_token stop{};
  /// The kinds of inputs that a plan may have.
  InputKinds kinds = input_kinds();
};

/// Loads the encoders that the schema names.
/// \error as make_text_encoder
Result<TextEncoders> make_encoders(const Schema& schema, const EncoderSources& sources);

/// Compares the encoders of this machine with those with which the plan was made.
/// \error kFailedPrecondition  an encoder has other weights; names the encoder
Status check_encoders(const PreparePlan& plan, const TextEncoders& encoders);

/// The pool that runs the plan's map; null if the plan has no map. Starts no process.
/// \error kNotFound  there is no Python
Result<std::unique_ptr<MapPool>> make_map_pool(const PreparePlan& plan, const PlanningContext& context);

}  // namespace headrace
