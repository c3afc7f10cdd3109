#include "headrace/mlflow/registered_models.h"

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/registry_requests.h"

namespace headrace::mlflow {

RegisteredModels::RegisteredModels(Location root, LoggedModels& logged_models, std::string artifacts,
                                   ClockMs now_ms, std::function<void(const std::string&)> warn)
    : root_(std::move(root)),
      logged_models_(logged_models),
      artifacts_(std::move(artifacts)),
      now_ms_(std::move(now_ms)),
      warn_(std::move(warn)),
      names_(root_) {}

const std::map<std::string_view, RegisteredModels::Call>& RegisteredModels::calls() {
  static const std::map<std::string_view, Call> kCalls = {
      {"POST mlflow/registered-models/create", &RegisteredModels::create},
      {"GET mlflow/registered-models/get", &RegisteredModels::get},
      {"PATCH mlflow/registered-models/update", &RegisteredModels::update},
      {"POST mlflow/registered-models/rename", &RegisteredModels::rename},
      {"DELETE mlflow/registered-models/delete", &RegisteredModels::remove},
      {"GET mlflow/registered-models/search", &RegisteredModels::search},
      {"GET mlflow/registered-models/get-latest-versions", &RegisteredModels::latest_versions},
      {"POST mlflow/registered-models/get-latest-versions", &RegisteredModels::latest_versions},
      {"POST mlflow/registered-models/set-tag", &RegisteredModels::set_tag},
      {"DELETE mlflow/registered-models/delete-tag", &RegisteredModels::delete_tag},
      {"POST mlflow/registered-models/alias", &RegisteredModels::set_alias},
      {"DELETE mlflow/registered-models/alias", &RegisteredModels::delete_alias},
      {"GET mlflow/registered-models/alias", &RegisteredModels::get_by_alias},
      {"POST mlflow/model-versions/create", &RegisteredModels::create_version},
      {"GET mlflow/model-versions/get", &RegisteredModels::get_version},
      {"PATCH mlflow/model-versions/update", &RegisteredModels::update_version},
      {"DELETE mlflow/model-versions/delete", &RegisteredModels::delete_version},
      {"GET mlflow/model-versions/search", &RegisteredModels::search_versions},
      {"GET mlflow/model-versions/get-download-uri", &RegisteredModels::download_uri},
      {"POST mlflow/model-versions/set-tag", &RegisteredModels::set_version_tag},
      {"DELETE mlflow/model-versions/delete-tag", &RegisteredModels::delete_version_tag},
      {"POST mlflow/model-versions/transition-stage", &RegisteredModels::set_stage}};
  return kCalls;
}

// REQUIRES: the model exists, or is being created
std::shared_ptr<StateLog> RegisteredModels::log_of(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto& log = logs_[id];
  if (log == nullptr) {
    log = std::make_shared<StateLog>(root_.at(concat(kStatesFolder, "/registered-models/", id)),
                                     "headrace.mlflow.registered-model");
  }
  return log;
}

Result<RegisteredModel> RegisteredModels::load_named(const std::string& name, const CallOptions& call) {
  HEADRACE_CHECK(check_registered_model_name(name));
  HEADRACE_TRY(RegisteredName entry, names_.find(name, call));
  HEADRACE_TRY(State state, log_of(entry.id)->load(call));
  if (!state->is_object()) {
    return Error{Code::kDataLoss, concat("the states of the registered model ", printable_line(name, 100),
                                         " are missing; restore ", kStatesFolder, "/registered-models/",
                                         entry.id, " from a copy")};
  }
  return RegisteredModel{name, std::move(entry), std::move(state)};
}

Result<RegisteredModel> RegisteredModels::load(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("name"));
  return load_named(name, call);
}

Result<RegisteredModel> RegisteredModels::change(const RequestFields& fields, const Edit& edit,
                                                 const CallOptions& call) {
  HEADRACE_TRY(RegisteredModel model, load(fields, call));
  HEADRACE_TRY(model.state, log_of(model.entry.id)->change(edit, call));
  return model;
}

Result<Json> RegisteredModels::create(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("name"));
  HEADRACE_TRY(const std::string description, fields.text("description"));
  HEADRACE_TRY(const Json tags, registry_tags(fields));
  HEADRACE_CHECK(check_registered_model_name(name));
  HEADRACE_CHECK(names_.require_free(name, call));  // so that a repeated call leaves no states behind
  RegisteredModel model{.name = name};
  model.entry.id = concat("r-", hex64(random_name_bits()), hex64(random_name_bits()));
  const std::int64_t now = now_ms_();
  const auto begin = [&](Json& state) -> Status {
    state = {{"created", now}, {"updated", now}, {"tags", tags}};
    if (!description.empty()) state["description"] = description;
    return {};
  };
  HEADRACE_TRY(model.state, log_of(model.entry.id)->change(begin, call));
  HEADRACE_CHECK(names_.add(name, model.entry.id, call));  // from here on, the model exists
  return Json({{"registered_model", registered_model_to_json(model, artifacts_)}});
}

Result<Json> RegisteredModels::get(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const RegisteredModel model, load(fields, call));
  return Json({{"registered_model", registered_model_to_json(model, artifacts_)}});
}

Result<Json> RegisteredModels::update(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string description, fields.text("description"));
  const auto set = [&](Json& state) -> Status {
    state["description"] = description;
    state["updated"] = now_ms_();
    return {};
  };
  HEADRACE_TRY(const RegisteredModel model, change(fields, set, call));
  return Json({{"registered_model", registered_model_to_json(model, artifacts_)}});
}

Result<Json> RegisteredModels::rename(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("name"));
  HEADRACE_TRY(const std::string new_name, fields.required_text("new_name"));
  HEADRACE_CHECK(check_registered_model_name(new_name));
  HEADRACE_CHECK(names_.rename(name, new_name, now_ms_(), call));
  HEADRACE_TRY(const RegisteredModel model, load_named(new_name, call));
  return Json({{"registered_model", registered_model_to_json(model, artifacts_)}});
}

Result<Json> RegisteredModels::remove(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("name"));
  HEADRACE_CHECK(names_.remove(name, call));
  return Json::object();
}

Result<Json> RegisteredModels::latest_versions(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(std::vector<std::string> stages, fields.texts("stages"));
  for (std::string& stage : stages) {
    HEADRACE_TRY(stage, canonical_stage(stage));
  }
  HEADRACE_TRY(const RegisteredModel model, load(fields, call));
  return Json({{"model_versions", latest_versions_to_json(model, stages, artifacts_)}});
}

Result<Json> RegisteredModels::set_tag(const RequestFields& fields, const CallOptions& call) {
  const auto set = [&](Json& state) { return set_registry_tag(fields, state); };
  HEADRACE_CHECK(change(fields, set, call));
  return Json::object();
}

Result<Json> RegisteredModels::delete_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  const auto remove = [&](Json& state) -> Status {
    erase_member(state, "tags", key);
    return {};
  };
  HEADRACE_CHECK(change(fields, remove, call));
  return Json::object();
}

Result<Json> RegisteredModels::set_alias(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string alias, fields.required_text("alias"));
  HEADRACE_CHECK(check_alias(alias));
  HEADRACE_CHECK(check_alias_is_free(alias));
  HEADRACE_TRY(const std::uint64_t number, version_number(fields));
  const auto set = [&](Json& state, Json&) -> Status {
    state["aliases"][alias] = number;
    return {};
  };
  HEADRACE_CHECK(change_version(fields, set, call));
  return Json::object();
}

Result<Json> RegisteredModels::delete_alias(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string alias, fields.required_text("alias"));
  HEADRACE_CHECK(check_alias(alias));
  const auto remove = [&](Json& state) -> Status {
    erase_member(state, "aliases", alias);
    return {};
  };
  HEADRACE_CHECK(change(fields, remove, call));
  return Json::object();
}

Result<Json> RegisteredModels::get_by_alias(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string alias, fields.required_text("alias"));
  HEADRACE_CHECK(check_alias(alias));
  HEADRACE_TRY(RegisteredModel model, load(fields, call));
  HEADRACE_TRY(const std::uint64_t number, number_of_alias(model, alias));
  return version_answer({std::move(model), number});
}

}  // namespace headrace::mlflow
