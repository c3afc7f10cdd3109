#pragma once

/// \file MLflow's experiments: one state for all experiments of a folder.

#include <functional>
#include <string>
#include <string_view>

#include "headrace/mlflow/request_fields.h"
#include "headrace/mlflow/state_log.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {

/// Milliseconds since 1970.
using ClockMs = std::function<std::int64_t()>;

/// [{"key": …, "value": …}, …]: MLflow's form of params and tags.
Json pairs_to_json(const std::map<std::string, std::string>& texts);

/// The experiments of one state. A value.
class ExperimentList {
 public:
  explicit ExperimentList(State state) : state_(std::move(state)) {}

  /// The facts of all experiments, by id. The default experiment exists without being created.
  std::map<std::string, Json> all() const;
  /// The facts of one experiment; null if there is none.
  Json find(std::string_view id) const;
  bool is_deleted(std::string_view id) const;
  /// URI of the experiment's artifacts: the one that it was created with, else one that the server answers.
  std::string artifact_location(std::string_view id) const;
  /// The folder of the experiment's artifacts, relative to kStatesFolder/artifacts; empty if they lie
  /// elsewhere.
  std::string artifact_folder(std::string_view id) const;

 private:
  State state_;
};

/// The calls of MLflow's API for experiments: fields in, JSON out. Each call waits for the store.
/// Thread-safe; other processes may change the same experiments.
class Experiments {
 public:
  Experiments(const Location& root, ClockMs now_ms);

  Result<Json> create(const RequestFields& fields, const CallOptions& call);
  Result<Json> get(const RequestFields& fields, const CallOptions& call);
  Result<Json> get_by_name(const RequestFields& fields, const CallOptions& call);
  Result<Json> rename(const RequestFields& fields, const CallOptions& call);
  Result<Json> remove(const RequestFields& fields, const CallOptions& call);
  Result<Json> restore(const RequestFields& fields, const CallOptions& call);
  Result<Json> search(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_tag(const RequestFields& fields, const CallOptions& call);

  Result<ExperimentList> load(const CallOptions& call);
  /// The list as it was last read or written. Never waits for the store.
  ExperimentList known() const { return ExperimentList(log_.known()); }
  /// Checks that an experiment exists and is active.
  /// \error kNotFound            there is no such experiment
  /// \error kFailedPrecondition  it is deleted
  Status require_active(std::string_view id, const CallOptions& call);

 private:
  using EditFacts = std::function<Status(Json& facts, const std::map<std::string, Json>& all)>;
  Status edit(const std::string& id, const EditFacts& edit, bool is_active, const CallOptions& call);

  const std::string place_;
  const ClockMs now_ms_;
  StateLog log_;
};

}  // namespace headrace::mlflow
