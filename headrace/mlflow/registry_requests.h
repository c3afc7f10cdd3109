#pragma once

/// \file Reads the fields of requests to MLflow's model registry. Pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/mlflow/registry_view.h"
#include "headrace/mlflow/request_fields.h"

namespace headrace::mlflow {

inline constexpr std::string_view kFirstStage = "None";
inline constexpr std::string_view kArchivedStage = "Archived";

/// Sets the tag from the fields `key` and `value` in the facts of a model or of a version.
/// \error kInvalidArgument  the key or the value is too long, or has a forbidden character
/// \error kUnimplemented    the tag is kPromptTag
Status set_registry_tag(const RequestFields& fields, Json& facts);
/// The field `tags` as an object from key to value.
/// \error as set_registry_tag
Result<Json> registry_tags(const RequestFields& fields);
/// Removes the member `name` of the object `facts[object]`, if it is there.
void erase_member(Json& facts, std::string_view object, const std::string& name);
/// The field `version`.
/// \error kInvalidArgument  it is missing or not a number
Result<std::uint64_t> version_number(const RequestFields& fields);
/// "None", "Staging", "Production" or "Archived" for such a name in any case.
/// \error kInvalidArgument  it is not the name of a stage
Result<std::string> canonical_stage(std::string_view stage);
/// The number of the version with this alias; "latest" is the latest version.
/// \error kNotFound         the alias is "latest", and the model has no versions
/// \error kInvalidArgument  the model has no such alias
Result<std::uint64_t> number_of_alias(const RegisteredModel& model, std::string_view alias);

}  // namespace headrace::mlflow
