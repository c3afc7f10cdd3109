#pragma once

/// \file The names of registered models: one state for all names of a folder (docs/formats/mlflow-state.md).

#include <cstdint>
#include <map>
#include <string>

#include "headrace/mlflow/state_log.h"

namespace headrace::mlflow {

struct RegisteredName {
  std::string id;
  std::int64_t renamed_ms = 0;  // since 1970; 0: never
};

/// Maps names to registered models. Thread-safe; other processes may change the same names. Cost: each call
/// lists the states once, and reads or writes a state if necessary.
class RegisteredNames {
 public:
  explicit RegisteredNames(const Location& root);

  /// All names.
  Result<std::map<std::string, RegisteredName>> all(const CallOptions& call);
  /// \error kNotFound  no model has this name
  Result<RegisteredName> find(const std::string& name, const CallOptions& call);
  /// Checks that no model has this name.
  /// \error kAlreadyExists  a model has this name
  Status require_free(const std::string& name, const CallOptions& call);
  /// Gives the name to the model with this id.
  /// \error as require_free
  Status add(const std::string& name, const std::string& id, const CallOptions& call);
  /// \error kNotFound       no model has the name
  /// \error kAlreadyExists  a model has the new name
  Status rename(const std::string& name, const std::string& new_name, std::int64_t now_ms,
                const CallOptions& call);
  /// \error kNotFound  no model has this name
  Status remove(const std::string& name, const CallOptions& call);

 private:
  StateLog log_;
};

}  // namespace headrace::mlflow
