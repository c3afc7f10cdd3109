#include "headrace/mlflow/registry_requests.h"

#include <algorithm>
#include <utility>

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/registered_models.h"

namespace headrace::mlflow {
namespace {

Status check_registry_tag(std::string_view key, std::string_view value) {
  if (key == kPromptTag) {
    return Error{Code::kUnimplemented,
                 "prompts: keep them with an MLflow server; Headrace's model registry has models only. See "
                 "docs/how-to/mlflow.md"};
  }
  HEADRACE_CHECK(check_entity_name(key, "key"));
  return check_registry_tag_value(value);
}

}  // namespace

Status set_registry_tag(const RequestFields& fields, Json& facts) {
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  HEADRACE_TRY(const std::string value, fields.text("value"));
  HEADRACE_CHECK(check_registry_tag(key, value));
  facts["tags"][key] = value;
  return {};
}

void erase_member(Json& facts, std::string_view object, const std::string& name) {
  if (std::as_const(facts)[object].contains(name)) facts[object].members().erase(name);
}

Result<Json> registry_tags(const RequestFields& fields) {
  HEADRACE_TRY(const auto pairs, fields.pairs("tags"));
  Json out = Json::object();
  for (const auto& [key, value] : pairs) {
    HEADRACE_CHECK(check_registry_tag(key, value));
    out[key] = value;
  }
  return out;
}

Result<std::uint64_t> version_number(const RequestFields& fields) {
  HEADRACE_TRY(const std::string digits, fields.required_text("version"));
  if (const auto number = parse_number<std::uint64_t>(digits)) return *number;
  return Error{Code::kInvalidArgument,
               concat("Parameter 'version' must be an integer, got '", printable_line(digits, 60), "'.")};
}

Result<std::string> canonical_stage(std::string_view stage) {
  for (const std::string_view known :
       {kFirstStage, std::string_view("Staging"), std::string_view("Production"), kArchivedStage}) {
    if (to_lower(known) == to_lower(stage)) return std::string(known);
  }
  return Error{Code::kInvalidArgument, concat("Invalid Model Version stage: ", printable_line(stage, 60),
                                              ". Value must be one of None, Staging, Production, Archived.")};
}

Result<std::uint64_t> number_of_alias(const RegisteredModel& model, std::string_view alias) {
  if (to_lower(alias) == "latest") {
    std::uint64_t latest = 0;
    for_each_version(model, [&](std::uint64_t number, const Json&) { latest = std::max(latest, number); });
    if (latest > 0) return latest;
    return Error{Code::kNotFound,
                 concat("Latest version not found for model ", printable_line(model.name, 100), ".")};
  }
  const Json& number = (*model.state)["aliases"][alias];
  if (number.is_unsigned()) return number.as<std::uint64_t>();
  return Error{Code::kInvalidArgument,
               concat("Registered model alias ", printable_line(alias, 100), " not found.")};
}

}  // namespace headrace::mlflow
