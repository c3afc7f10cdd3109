// The versions of registered models.

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/registered_models.h"
#include "headrace/mlflow/registry_requests.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kModelsScheme = "models:/";

Error no_version(const std::string& name, std::uint64_t number) {
  return {Code::kNotFound,
          concat("Model Version (name=", printable_line(name, 100), ", version=", number, ") not found")};
}

Error unclear_source(std::string_view uri) {
  return {Code::kInvalidArgument,
          concat("Invalid model version source: '", printable_line(uri, 200),
                 "'. After models:/ comes the id of a logged model, or a registered model's name with "
                 "/VERSION or @ALIAS")};
}

void set_if_given(Json& facts, std::string_view key, const std::string& value) {
  if (!value.empty()) facts[key] = value;
}

}  // namespace

// The source of a new version, to be kept in its state.
struct RegisteredModels::Source {
  std::string uri;
  std::string location{};  // of the files, if the URI names a model
  std::string run{};
};

Result<RegisteredModels::Version> RegisteredModels::load_version(const RequestFields& fields,
                                                                 const CallOptions& call) {
  HEADRACE_TRY(const std::uint64_t number, version_number(fields));
  HEADRACE_TRY(RegisteredModel model, load(fields, call));
  if (find_version(model, number).is_null()) return no_version(model.name, number);
  return Version{std::move(model), number};
}

Result<RegisteredModels::Version> RegisteredModels::change_version(const RequestFields& fields,
                                                                   const EditVersion& edit,
                                                                   const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("name"));
  HEADRACE_TRY(const std::uint64_t number, version_number(fields));
  const auto change_it = [&](Json& state) -> Status {
    if (std::as_const(state)["model_versions"][concat(number)].is_null()) return no_version(name, number);
    return edit(state, state["model_versions"][concat(number)]);
  };
  HEADRACE_TRY(RegisteredModel model, change(fields, change_it, call));
  return Version{std::move(model), number};
}

Result<Json> RegisteredModels::version_answer(const Version& version) const {
  if (find_version(version.model, version.number).is_null())
    return no_version(version.model.name, version.number);
  return Json({{"model_version", model_version_to_json(version.model, version.number, artifacts_)}});
}

// Finds the version of a `path` of the form NAME/VERSION or NAME@ALIAS.
Result<RegisteredModels::Version> RegisteredModels::version_of_uri(std::string_view path,
                                                                   const CallOptions& call) {
  const std::size_t slash = path.rfind('/');
  const std::size_t at = path.rfind('@');
  if (slash == path.npos && at == path.npos) return unclear_source(path);
  HEADRACE_TRY(RegisteredModel model,
               load_named(std::string(path.substr(0, slash == path.npos ? at : slash)), call));
  std::uint64_t number = 0;
  if (slash == path.npos) {
    HEADRACE_TRY(number, number_of_alias(model, path.substr(at + 1)));
  } else {
    number = parse_number<std::uint64_t>(path.substr(slash + 1)).value_or(0);
  }
  if (find_version(model, number).is_null()) return no_version(model.name, number);
  return Version{std::move(model), number};
}

Result<RegisteredModels::Source> RegisteredModels::resolve(const std::string& uri, const CallOptions& call) {
  if (!uri.starts_with(kModelsScheme)) return Source{artifacts_.kept(uri)};
  const std::string path = uri.substr(kModelsScheme.size());
  if (path.starts_with("m-") && path.find_first_of("/@") == path.npos) {
    HEADRACE_TRY(const Json found, logged_models_.get(RequestFields(Json({{"model_id", path}})), call));
    const Json& info = found["model"]["info"];
    return Source{uri, info.get<std::string>("artifact_uri"), info.get_or("source_run_id", "")};
  }
  HEADRACE_TRY(const Version version, version_of_uri(path, call));
  const Json& facts = find_version(version.model, version.number);
  return Source{concat(kModelsScheme, version.model.name, "/", version.number),
                facts.get_or("location", facts.get<std::string>("source")), facts.get_or("run", "")};
}

Result<Json> RegisteredModels::create_version(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string uri, fields.required_text("source"));
  HEADRACE_TRY(const std::string run, fields.text("run_id"));
  HEADRACE_TRY(const std::string run_link, fields.text("run_link"));
  HEADRACE_TRY(const std::string description, fields.text("description"));
  HEADRACE_TRY(const std::string logged_model, fields.text("model_id"));
  HEADRACE_TRY(const Json tags, registry_tags(fields));
  HEADRACE_TRY(const Source source, resolve(uri, call));
  const std::int64_t now = now_ms_();
  Json facts = {
      {"created", now}, {"updated", now}, {"stage", kFirstStage}, {"source", source.uri}, {"tags", tags}};
  set_if_given(facts, "location", source.location);
  set_if_given(facts, "run", run.empty() ? source.run : run);
  set_if_given(facts, "run_link", run_link);
  set_if_given(facts, "description", description);
  set_if_given(facts, "model", logged_model);
  std::uint64_t number = 0;
  const auto add = [&](Json& state) -> Status {
    number = state.get_or<std::uint64_t>("last_version", 0) + 1;
    state["last_version"] = number;
    state["model_versions"][concat(number)] = facts;
    state["updated"] = now;
    return {};
  };
  HEADRACE_TRY(RegisteredModel model, change(fields, add, call));
  return version_answer({std::move(model), number});
}

Result<Json> RegisteredModels::get_version(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const Version version, load_version(fields, call));
  return version_answer(version);
}

Result<Json> RegisteredModels::update_version(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string description, fields.text("description"));
  const auto set = [&](Json&, Json& facts) -> Status {
    facts["description"] = description;
    facts["updated"] = now_ms_();
    return {};
  };
  HEADRACE_TRY(const Version version, change_version(fields, set, call));
  return version_answer(version);
}

Result<Json> RegisteredModels::delete_version(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::uint64_t number, version_number(fields));
  const auto remove = [&](Json& state, Json&) -> Status {
    state["model_versions"].members().erase(concat(number));
    if (std::as_const(state)["aliases"].is_object())
      std::erase_if(state["aliases"].members(),
                    [&](const auto& each) { return each.second == Json(number); });
    state["updated"] = now_ms_();
    return {};
  };
  HEADRACE_CHECK(change_version(fields, remove, call));
  return Json::object();
}

Result<Json> RegisteredModels::download_uri(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const Version version, load_version(fields, call));
  const Json& facts = find_version(version.model, version.number);
  const std::string location = facts.get_or("location", facts.get<std::string>("source"));
  return Json({{"artifact_uri", artifacts_.shown(location)}});
}

Result<Json> RegisteredModels::set_version_tag(const RequestFields& fields, const CallOptions& call) {
  const auto set = [&](Json&, Json& facts) { return set_registry_tag(fields, facts); };
  HEADRACE_CHECK(change_version(fields, set, call));
  return Json::object();
}

Result<Json> RegisteredModels::delete_version_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  const auto remove = [&](Json&, Json& facts) -> Status {
    erase_member(facts, "tags", key);
    return {};
  };
  HEADRACE_CHECK(change_version(fields, remove, call));
  return Json::object();
}

Result<Json> RegisteredModels::set_stage(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string given, fields.required_text("stage"));
  HEADRACE_TRY(const std::string stage, canonical_stage(given));
  HEADRACE_TRY(const bool archives_others, fields.flag("archive_existing_versions", false));
  if (archives_others && (stage == kFirstStage || stage == kArchivedStage)) {
    return Error{Code::kInvalidArgument,
                 concat("Model version transition cannot archive existing model versions because '", stage,
                        "' is not an Active stage. Valid stages are Staging and Production")};
  }
  const auto set = [&](Json& state, Json& facts) -> Status {
    const std::int64_t now = now_ms_();
    for (auto& [digits, other] : state["model_versions"].members()) {
      if (!archives_others || other["stage"] != Json(stage)) continue;
      other["stage"] = kArchivedStage;
      other["updated"] = now;
    }
    facts["stage"] = stage;
    facts["updated"] = now;
    state["updated"] = now;
    return {};
  };
  HEADRACE_TRY(const Version version, change_version(fields, set, call));
  return version_answer(version);
}

}  // namespace headrace::mlflow
