#pragma once

/// \file MLflow's logged models. Their facts are states, their files are artifacts, and their points are in
/// runs.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "headrace/mlflow/experiments.h"
#include "headrace/mlflow/log_batch.h"

namespace headrace::mlflow {

/// The calls of MLflow's API for logged models: fields in, JSON out. `model_id` comes from the path. Each
/// call waits for the store. Thread-safe; other processes may change the same models.
class LoggedModels {
 public:
  /// `experiments` must outlive it. `warn` is called from any thread with messages for the operator.
  LoggedModels(Location root, Experiments& experiments, ClockMs now_ms,
               std::function<void(const std::string&)> warn)
      : root_(std::move(root)),
        experiments_(experiments),
        now_ms_(std::move(now_ms)),
        warn_(std::move(warn)) {}

  Result<Json> create(const RequestFields& fields, const CallOptions& call);
  Result<Json> get(const RequestFields& fields, const CallOptions& call);
  Result<Json> finalize(const RequestFields& fields, const CallOptions& call);
  Result<Json> remove(const RequestFields& fields, const CallOptions& call);
  Result<Json> set_tags(const RequestFields& fields, const CallOptions& call);
  Result<Json> delete_tag(const RequestFields& fields, const CallOptions& call);
  Result<Json> log_params(const RequestFields& fields, const CallOptions& call);
  Result<Json> search(const RequestFields& fields, const CallOptions& call);

  /// Stores points with the models that they name: the last point for each metric, run and dataset. Ignores
  /// points that name no model.
  Status keep_points(const std::string& run, std::span<const LoggedPoint> points, const CallOptions& call);

 private:
  std::shared_ptr<StateLog> log_named(const std::string& id);
  Result<State> load(const std::string& id, const CallOptions& call);
  Result<Json> answer(const std::string& id, State state, const CallOptions& call);
  Result<State> change(const std::string& id, const StateLog::Edit& edit, const CallOptions& call);

  const Location root_;
  Experiments& experiments_;
  const ClockMs now_ms_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StateLog>> states_;  // of existing models
};

}  // namespace headrace::mlflow
