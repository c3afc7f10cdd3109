#pragma once

/// \file A request for a dataset, and the plan that follows from it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/prepare/plan/layout_schema.h"
#include "headrace/prepare/plan/planned_prepare.h"
#include "headrace/prepare/source/input_kind.h"

namespace headrace {

struct PlanRequest {
  /// If set, only `format` of the following is used. All else is as in the continued plan.
  Continuation continuation = Continuation::kNone;
  std::optional<InputFormat> format{};  // nullopt: guess it from names
  /// URL of a schema in TOML. Empty: the layout's own schema, or an inferred one.
  std::string schema_url{};
  /// For a layout's own schema; `image` also for an inferred one.
  LayoutSchemaOptions layout{};
  /// For a schema that does not come from a file.
  CellRules cells{};
  bool in_tfrecorder_layout = false;
  /// Shares, ascending by name; they replace the splits of the schema.
  std::vector<std::pair<std::string, double>> splits{};
  /// All other options. Planning sets input, schema, encoders and base.
  PreparePlan options{};
};

/// The input of a plan with these options, cut into slices. `only`: as in find_input.
/// \error as find_input (input_kind.h)
Result<Input> look_at_input(const InputPlace& place, std::optional<InputFormat> format,
                            const PreparePlan& plan, const KnownInputs* only = nullptr,
                            const std::stop_token& stop = {});

/// Makes the plan: lists the input, reads the output if the plan continues it, reads or infers the schema,
/// and loads the map's function to make sure that it can be loaded.
/// \error kInvalidArgument, kNotFound  about input, schema, encoder, or function
/// \error as continue_plan and leave_what_continues
Result<PlannedPrepare> plan_prepare(const PlanRequest& request, const InputPlace& input,
                                    const Location& output, const PlanningContext& context);

}  // namespace headrace
