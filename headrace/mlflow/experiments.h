#pragma once

/// \file MLflow's experiments: one state for all of a folder.

#include <functional>
#include <string>
#include <string_view>

#include "headrace/mlflow/request_fields.h"
#include "headrace/mlflow/state_log.h"
#include "headrace/track/mlflow_run.h"

namespace headrace::mlflow {

/// Milliseconds since 1970.
using ClockMs = std::function<std::int64_t()>;

/// [{"key": …, "value": …}, …], as MLflow has params and tags.
Json pairs_to_json(const std::map<std::string, std::string>& texts);

/// The experiments of one state. A value.
class ExperimentList {
 public:
  explicit ExperimentList(State state) : state_(std::move(state)) {}

  /// By id. The default one is there without being created.
  std::map<std::string, Json> all() const;
  /// Null if there is none.
  Json find(std::string_view id) const;
  bool is_deleted(std::string_view id) const;
  /// URI of the experiment's artifacts: its own, else one that the server answers.
  std::string artifact_location(std::string_view id) const;
  /// The folder below kStatesFolder/artifacts; empty if the artifacts of the experiment lie elsewhere.
  std::string artifact_folder(std::string_view id) const;

 private:
  State state_;
};

/// Calls of MLflow's API: fields in, JSON out. Thread-safe; other processes may change the same experiments.
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
  /// As it was read last.
  ExperimentList known() const { return ExperimentList(log_.known()); }
  /// \error kNotFound, kFailedPrecondition  there is none; it is deleted
  Status require_active(std::string_view id, const CallOptions& call);

 private:
  using EditFacts = std::function<Status(Json& facts, const std::map<std::string, Json>& all)>;
  Status edit(const std::string& id, const EditFacts& edit, bool is_active, const CallOptions& call);

  const std::string place_;
  const ClockMs now_ms_;
  StateLog log_;
};

}  // namespace headrace::mlflow
