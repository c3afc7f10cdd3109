#pragma once

/// \file What is wished of a data set, as a value; and the plan that comes of it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headrace/prepare/plan/layout_schema.h"
#include "headrace/prepare/plan/planned_prepare.h"

namespace headrace {

struct PlanRequest {
  /// If any, only `format` counts of what follows: all else is as the data set was made that is continued.
  Continuation continuation = Continuation::kNone;
  std::optional<InputFormat> format{};  // none: what names tell
  /// Of TOML; empty: the layout's own schema, or one that is inferred.
  std::string schema_url{};
  /// Of a layout's own schema; `image` also of one that is inferred.
  LayoutSchemaOptions layout{};
  bool in_tfrecorder_layout = false;
  /// Shares, ascending by name; they take the place of the schema's splits.
  std::vector<std::pair<std::string, double>> splits{};
  /// What else decides bytes. Input, schema, encoders and base come to it.
  PreparePlan options{};
};

/// Looks at the input, and at the output if it is to be continued; reads or infers the schema; loads the
/// map's function, to know that it can be.
/// \error kInvalidArgument, kNotFound  of input, schema, encoder, or function
/// \error those of continue_plan and leave_what_continues
Result<PlannedPrepare> plan_prepare(const PlanRequest& request, const Location& input, const Location& output,
                                    const PlanningContext& context);

}  // namespace headrace
