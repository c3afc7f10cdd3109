#pragma once

/// \file Registered models and their versions as MLflow's API shows them, computed from their states
/// (docs/formats/mlflow-state.md). Pure functions.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "headrace/mlflow/registered_names.h"

namespace headrace::mlflow {

/// Translates URIs of files in `_headrace/mlflow/artifacts/`. States contain URIs "mlflow-artifacts:/…",
/// which only a server can answer.
class ArtifactFolderUri {
 public:
  /// \param uri  the URI of the folder for these clients; empty: they ask a server
  explicit ArtifactFolderUri(std::string uri) : uri_(std::move(uri)) {}

  /// Translates a URI from a state for a client. Other URIs do not change.
  std::string shown(std::string_view kept) const;
  /// Translates a URI from a client for a state. Other URIs do not change.
  std::string kept(std::string_view shown) const;

 private:
  const std::string uri_;
};

struct RegisteredModel {
  std::string name;
  RegisteredName entry{};
  State state{};
};

/// The version's facts; null if the model has no such version.
const Json& find_version(const RegisteredModel& model, std::uint64_t number);
/// Calls `visit` for each version, in no particular order.
void for_each_version(const RegisteredModel& model,
                      const std::function<void(std::uint64_t number, const Json& facts)>& visit);

/// When a model or version (`facts`) was last updated, in ms since 1970. A rename of the model counts.
std::int64_t updated_ms(const RegisteredModel& model, const Json& facts);
/// REQUIRES: the model has this version
Json model_version_to_json(const RegisteredModel& model, std::uint64_t number, const ArtifactFolderUri& uri);
/// The latest version of each of these stages that has one; of each stage if there are no `stages`.
Json latest_versions_to_json(const RegisteredModel& model, const std::vector<std::string>& stages,
                             const ArtifactFolderUri& uri);
Json registered_model_to_json(const RegisteredModel& model, const ArtifactFolderUri& uri);

}  // namespace headrace::mlflow
