#pragma once

/// \file Names of registered models: one state for all of a folder (docs/formats/mlflow-state.md).

#include <cstdint>
#include <map>
#include <string>

#include "headrace/mlflow/state_log.h"

namespace headrace::mlflow {

struct RegisteredName {
  std::string id;
  std::int64_t renamed_ms = 0;  // since 1970; 0: never
};

/// Which registered model has which name. Thread-safe; other processes may change the same names. Each call
/// lists the states once, and reads or writes one if it has to.
class RegisteredNames {
 public:
  explicit RegisteredNames(const Location& root);

  /// By name.
  Result<std::map<std::string, RegisteredName>> all(const CallOptions& call);
  /// \error kNotFound  no model has this name
  Result<RegisteredName> find(const std::string& name, const CallOptions& call);
  /// \error kAlreadyExists  a model has this name
  Status require_free(const std::string& name, const CallOptions& call);
  /// \error as require_free
  Status add(const std::string& name, const std::string& id, const CallOptions& call);
  /// \error kNotFound, kAlreadyExists  no model has the name; another one has the new name
  Status rename(const std::string& name, const std::string& new_name, std::int64_t now_ms,
                const CallOptions& call);
  /// \error kNotFound  no model has this name
  Status remove(const std::string& name, const CallOptions& call);

 private:
  StateLog log_;
};

}  // namespace headrace::mlflow
