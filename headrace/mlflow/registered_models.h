#pragma once

/// \file MLflow's model registry: registered models, their versions and aliases. docs/decisions/mlflow.md,
/// docs/formats/mlflow-state.md.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/mlflow/logged_models.h"
#include "headrace/mlflow/registry_view.h"

namespace headrace::mlflow {

/// The tag with which MLflow marks a prompt among registered models. No model here can have it.
inline constexpr std::string_view kPromptTag = "mlflow.prompt.is_prompt";

/// The calls of MLflow's API for the registry: fields in, JSON out; errors as in MLflow. Thread-safe; other
/// processes may change the same models. Cost: a call lists the states of the names and of its model, and
/// writes at most one of each. A search lists the states of all models, and reads new ones.
class RegisteredModels {
 public:
  using Call = Result<Json> (RegisteredModels::*)(const RequestFields&, const CallOptions&);

  /// \param logged_models  knows where the files of logged models are; must outlive this
  /// \param artifacts      the URI of `_headrace/mlflow/artifacts/` for clients; empty: they ask a server
  /// \param warn           called with messages about states that a search cannot read
  RegisteredModels(Location root, LoggedModels& logged_models, std::string artifacts, ClockMs now_ms,
                   std::function<void(const std::string&)> warn);

  /// The calls, by route: "POST mlflow/registered-models/create".
  static const std::map<std::string_view, Call>& calls();

 private:
  using Edit = StateLog::Edit;
  using EditVersion = std::function<Status(Json& state, Json& facts)>;
  struct Source;
  struct Version {
    RegisteredModel model;
    std::uint64_t number = 0;
  };

  Result<Json> create(const RequestFields& fields, const CallOptions& call);
  Result<Json> get(const RequestFields& fields, const CallOptions& call);
  Result<Json> update(const RequestFields& fields, const CallOptions& call);
  Result<Json> rename(const RequestFields& fields, const CallOptions& call);
  Result<Json> remove(const RequestFields& fields, const CallOptions& call);
  Result<Json> search(const RequestFields& fields, const CallOptions& call);
  Result<Json> latest_versions(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_alias(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_alias(const RequestFields& fields, const CallOptions& call);
  Result<Json> get_by_alias(const RequestFields& fields, const CallOptions& call);

  Result<Json> create_version(const RequestFields& fields, const CallOptions& call);
  Result<Json> get_version(const RequestFields& fields, const CallOptions& call);
  Result<Json> update_version(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_version(const RequestFields& fields, const CallOptions& call);
  Result<Json> search_versions(const RequestFields& fields, const CallOptions& call);
  Result<Json> download_uri(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_version_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_version_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_stage(const RequestFields& fields, const CallOptions& call);

  std::shared_ptr<StateLog> log_of(const std::string& id);
  Result<RegisteredModel> load(const RequestFields& fields, const CallOptions& call);
  Result<RegisteredModel> load_named(const std::string& name, const CallOptions& call);
  Result<std::vector<RegisteredModel>> load_all(const CallOptions& call);
  Result<RegisteredModel> change(const RequestFields& fields, const Edit& edit, const CallOptions& call);
  Result<Version> load_version(const RequestFields& fields, const CallOptions& call);
  Result<Version> change_version(const RequestFields& fields, const EditVersion& edit,
                                 const CallOptions& call);
  Result<Json> version_answer(const Version& version) const;
  Result<Source> resolve(const std::string& uri, const CallOptions& call);
  Result<Version> version_of_uri(std::string_view path, const CallOptions& call);

  const Location root_;
  LoggedModels& logged_models_;
  const ArtifactFolderUri artifacts_;
  const ClockMs now_ms_;
  const std::function<void(const std::string&)> warn_;
  RegisteredNames names_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StateLog>> logs_;  // by id, of existing models
};

}  // namespace headrace::mlflow
