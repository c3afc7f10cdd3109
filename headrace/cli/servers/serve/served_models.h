#pragma once

/// \file The models of a server, by the names that clients use.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/request_log/request_log.h"

namespace headrace {

/// Any thread may read it; nobody changes it while the server runs.
class ServedModels {
 public:
  /// REQUIRES: no other has its name
  void add(std::unique_ptr<LiveModel> model);

  /// \error kNotFound  no model has this name: lists those that there are
  Result<const LiveModel*> find(std::string_view name) const;
  /// The version that a request means.
  /// \error as `find` and LiveModel::find
  Result<std::shared_ptr<ServedVersion>> find_version(const RequestedModel& requested) const;
  /// The only model, or the first by name: for protocols that name none. REQUIRES: there is one
  const LiveModel& first() const { return *models_.begin()->second; }

  /// Where requests are logged; null: nowhere. It must outlive this.
  void set_request_log(RequestLog* log) { request_log_ = log; }
  RequestLog* request_log() const { return request_log_; }

  /// Whether every model has a version that is ready.
  bool are_ready() const;
  const std::map<std::string, std::unique_ptr<LiveModel>, std::less<>>& all() const { return models_; }

 private:
  std::map<std::string, std::unique_ptr<LiveModel>, std::less<>> models_;
  RequestLog* request_log_ = nullptr;
};

}  // namespace headrace
