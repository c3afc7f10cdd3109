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

/// \error kInvalidArgument  the key or the value is too long, or has a character that it may not have
/// \error kUnimplemented    the tag is that of a prompt
Status check_registry_tag(std::string_view key, std::string_view value);
/// The field `tags`: an object from key to value. \error as check_registry_tag
Result<Json> registry_tags(const RequestFields& fields);
/// The field `version`. \error kInvalidArgument  it is missing, or no number
Result<std::uint64_t> version_number(const RequestFields& fields);
/// None, Staging, Production or Archived, of a name in any case. \error kInvalidArgument
Result<std::string> canonical_stage(std::string_view stage);
/// \error kNotFound  "latest", of a model without versions
/// \error kInvalidArgument  the model has no such alias
Result<std::uint64_t> number_of_alias(const RegisteredModel& model, std::string_view alias);

}  // namespace headrace::mlflow
