#include "headrace/mlflow/registered_names.h"

#include "headrace/base/text.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {
namespace {

Error no_registered_model(const std::string& name) {
  return {Code::kNotFound, concat("Registered Model with name=", printable_line(name, 100), " not found")};
}

Error name_is_taken(const std::string& name) {
  return {Code::kAlreadyExists, concat("Registered Model (name=", printable_line(name, 100),
                                       ") already exists: take another name, or add a version to that one")};
}

RegisteredName parse_registered_name(const Json& entry) {
  return {entry.get<std::string>("id"), entry.get_or<std::int64_t>("renamed", 0)};
}

}  // namespace

RegisteredNames::RegisteredNames(const Location& root)
    : log_(root.at(concat(kStatesFolder, "/registry")), "headrace.mlflow.registry") {}

Result<std::map<std::string, RegisteredName>> RegisteredNames::all(const CallOptions& call) {
  HEADRACE_TRY(const State state, log_.load(call));
  std::map<std::string, RegisteredName> out;
  const Json& models = (*state)["models"];
  if (!models.is_object()) return out;
  for (const auto& [name, entry] : models.members()) out[name] = parse_registered_name(entry);
  return out;
}

Result<RegisteredName> RegisteredNames::find(const std::string& name, const CallOptions& call) {
  HEADRACE_TRY(const State state, log_.load(call));
  const Json& entry = (*state)["models"][name];
  if (entry.is_null()) return no_registered_model(name);
  return parse_registered_name(entry);
}

Status RegisteredNames::require_free(const std::string& name, const CallOptions& call) {
  HEADRACE_TRY(const State state, log_.load(call));
  return (*state)["models"][name].is_null() ? Status{} : name_is_taken(name);
}

Status RegisteredNames::add(const std::string& name, const std::string& id, const CallOptions& call) {
  const auto add = [&](Json& state) -> Status {
    Json& entry = state["models"][name];
    if (!entry.is_null()) return name_is_taken(name);
    entry = {{"id", id}};
    return {};
  };
  HEADRACE_CHECK(log_.change(add, call));
  return {};
}

Status RegisteredNames::rename(const std::string& name, const std::string& new_name, std::int64_t now_ms,
                               const CallOptions& call) {
  const auto rename = [&](Json& state) -> Status {
    const Json entry = std::as_const(state)["models"][name];
    if (entry.is_null()) return no_registered_model(name);
    Json& models = state["models"];
    if (models.contains(new_name)) return name_is_taken(new_name);
    models.members().erase(name);
    models[new_name] = entry;
    models[new_name]["renamed"] = now_ms;
    return {};
  };
  HEADRACE_CHECK(log_.change(rename, call));
  return {};
}

Status RegisteredNames::remove(const std::string& name, const CallOptions& call) {
  const auto remove = [&](Json& state) -> Status {
    if (std::as_const(state)["models"][name].is_null()) return no_registered_model(name);
    state["models"].members().erase(name);
    return {};
  };
  HEADRACE_CHECK(log_.change(remove, call));
  return {};
}

}  // namespace headrace::mlflow
