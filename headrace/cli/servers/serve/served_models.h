#pragma once

/// \file The models of a server, by the names that clients use.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/protocol/request_path.h"
#include "headrace/serve/release/canary.h"
#include "headrace/serve/release/shadow.h"
#include "headrace/serve/request_log/request_log.h"

namespace headrace {

/// A model, and how its requests are served. Keeps the model alive.
struct ServedEntry {
  std::shared_ptr<LiveModel> live;
  /// The time for a request that sets no deadline.
  std::chrono::milliseconds deadline{30'000};
  /// Null: there is none.
  std::shared_ptr<Canary> canary{};
  std::shared_ptr<Shadow> shadow{};  // borrows `live`
};

/// The state of the configuration that a server follows.
struct ConfigurationStatus {
  std::string place;
  /// Why the current file is not in force; none: it is in force.
  std::optional<std::string> problem{};
  std::uint64_t changes = 0;  // changes that came into force
};

/// Everything that a server serves at one time. Immutable once it is published.
struct ModelTable {
  std::map<std::string, std::shared_ptr<const ServedEntry>, std::less<>> models;
  /// Models that move to `models` once they are ready.
  std::map<std::string, std::shared_ptr<LiveModel>, std::less<>> coming{};
  /// None: the command line names the models.
  std::optional<ConfigurationStatus> configuration{};
};

/// The models that a server serves now. Thread-safe.
class ServedModels {
 public:
  /// Replaces the models; later requests find these. REQUIRES: the caller keeps each entry until nobody else
  /// holds it, because a model must not end in a thread that answers requests
  void publish(ModelTable table);
  std::shared_ptr<const ModelTable> table() const;

  /// The model with this name.
  /// \error kNotFound  no model has this name: the message lists those that exist
  Result<std::shared_ptr<const ServedEntry>> find(std::string_view name) const;
  /// The version that a request asks for, if it does not go to a canary.
  /// \error as `find` and LiveModel::find
  Result<std::shared_ptr<ServedVersion>> find_version(const RequestedModel& requested) const;
  /// The name of the only model, or of the first one, for protocols that name none. Empty if there is none.
  std::string first_name() const;

  /// Sets the log of requests; null: none. It must outlive this.
  void set_request_log(RequestLog* log) { request_log_ = log; }
  RequestLog* request_log() const { return request_log_; }

  /// Whether every model has a ready version.
  bool are_ready() const;
  /// All models, sorted by name.
  std::vector<std::pair<std::string, std::shared_ptr<LiveModel>>> all() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ModelTable> table_ = std::make_shared<ModelTable>();
  RequestLog* request_log_ = nullptr;
};

/// The versions of the canary and the shadow, which the server does not choose for other requests.
std::vector<VersionName> released_versions(const ServedEntry& entry);
/// Whether the model has a ready version that the server may choose.
bool can_answer(const ServedEntry& entry);

}  // namespace headrace
