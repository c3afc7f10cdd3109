#pragma once

/// \file Rules for names and sizes, as MLflow 3.17 has them (mlflow/utils/validation.py). Pure functions; all
/// errors are kInvalidArgument.

#include <string_view>

#include "headrace/base/result.h"

namespace headrace::mlflow {

inline constexpr std::size_t kParamsPerBatch = 100;
inline constexpr std::size_t kTagsPerBatch = 100;
inline constexpr std::size_t kMetricsPerBatch = 1000;
inline constexpr std::size_t kEntitiesPerBatch = 1000;

/// The name of a metric, a param or a tag: at most 250 characters, of letters, digits and `/_.- :`, and no
/// path that leads elsewhere, as "a/../b". Characters beyond ASCII are taken for letters.
Status check_entity_name(std::string_view name, std::string_view kind);
/// At most 6,000 characters.
Status check_param_value(std::string_view value);
/// At most 8,000 characters.
Status check_tag_value(std::string_view value);
/// At most 20,000 characters.
Status check_experiment_tag_value(std::string_view value);
/// 1 to 500 characters.
Status check_experiment_name(std::string_view name);
/// Letters, digits, '_', '-' and '.', at most 64, the first a letter or digit; also for logged models.
Status check_run_id(std::string_view id);
Status check_model_name(std::string_view name);
/// A registered model's: 1 to 256 characters other than '/' and ':', not all of them spaces, not "." or "..".
Status check_registered_model_name(std::string_view name);
/// Letters, digits, '_' and '-', 1 to 255 characters. Characters beyond ASCII are taken for letters.
Status check_alias(std::string_view alias);
/// Not "latest" and not "v1", in any case: MLflow's client gives these a meaning of its own.
Status check_alias_is_free(std::string_view alias);
/// At most 100,000 characters.
Status check_registry_tag_value(std::string_view value);

}  // namespace headrace::mlflow
