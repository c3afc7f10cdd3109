#pragma once

/// \file The rules for names and sizes of MLflow 3.17 (mlflow/utils/validation.py). Pure functions; all
/// errors are kInvalidArgument.

#include <string_view>

#include "headrace/base/result.h"

namespace headrace::mlflow {

inline constexpr std::size_t kParamsPerBatch = 100;
inline constexpr std::size_t kTagsPerBatch = 100;
inline constexpr std::size_t kMetricsPerBatch = 1000;
inline constexpr std::size_t kEntitiesPerBatch = 1000;

/// The name of a metric, param or tag: at most 250 letters, digits and characters of `/_.- :`. It must not be
/// a path that normalizes to another one, such as "a/../b". Characters beyond ASCII count as letters. `kind`
/// is the word for it in messages.
Status check_entity_name(std::string_view name, std::string_view kind);
/// At most 6,000 characters.
Status check_param_value(std::string_view value);
/// At most 8,000 characters.
Status check_tag_value(std::string_view value);
/// At most 20,000 characters.
Status check_experiment_tag_value(std::string_view value);
/// 1 to 500 characters.
Status check_experiment_name(std::string_view name);
/// The id of a run or of a logged model: 1 to 64 letters, digits, '_', '-' and '.', the first a letter or
/// digit.
Status check_run_id(std::string_view id);
/// The name of a logged model: not empty, and none of / : . % " '
Status check_model_name(std::string_view name);
/// The name of a registered model: 1 to 256 characters without '/' and ':', not only spaces, not "." or "..".
Status check_registered_model_name(std::string_view name);
/// The alias of a model version: 1 to 255 letters, digits, '_' and '-'. Characters beyond ASCII count as
/// letters.
Status check_alias(std::string_view alias);
/// An alias that can be set: neither "latest" nor "v" and a number, in any case. MLflow's client gives these
/// another meaning.
Status check_alias_is_free(std::string_view alias);
/// At most 100,000 characters.
Status check_registry_tag_value(std::string_view value);

}  // namespace headrace::mlflow
