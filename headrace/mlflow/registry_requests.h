#pragma once

/// \file Fields of requests to MLflow's model registry. Pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/mlflow/registry_view.h"
#include "headrace/mlflow/request_fields.h"

namespace headrace::mlflow {

inline constexpr std::string_view kFirstStage = "None";
inline constexpr std::string_view kArchivedStage = "Archived";

/// Sets the tag of the fields `key` and `value` in the facts of a model or of a version.
/// \error kInvalidArgument  the key or the value is too long, or has a character that it may not have
/// \error kUnimplemented    the tag is that of a prompt
Status set_registry_tag(const RequestFields& fields, Json& facts);
/// The field `tags`: an object from key to value. \error as set_registry_tag
Result<Json> registry_tags(const RequestFields& fields);
/// Removes the member `name` of the object `facts[object]`, if it is there.
void erase_member(Json& facts, std::string_view object, const std::string& name);
/// The field `version`. \error kInvalidArgument  it is missing, or no number
Result<std::uint64_t> version_number(const RequestFields& fields);
/// None, Staging, Production or Archived, of a name in any case. \error kInvalidArgument
Result<std::string> canonical_stage(std::string_view stage);
/// \error kNotFound  "latest", of a model without versions
/// \error kInvalidArgument  the model has no such alias
Result<std::uint64_t> number_of_alias(const RegisteredModel& model, std::string_view alias);

}  // namespace headrace::mlflow
