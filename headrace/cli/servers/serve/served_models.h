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

/// A model, and how its requests are served. It keeps the model alive.
struct ServedEntry {
  std::shared_ptr<LiveModel> live;
  /// A request that names none has this much time.
  std::chrono::milliseconds deadline{30'000};
  /// Null: there is none.
  std::shared_ptr<Canary> canary{};
  std::shared_ptr<Shadow> shadow{};  // borrows `live`
};

/// The state of the configuration that a server follows.
struct ConfigurationStatus {
  std::string place;
  /// Why the file that is there now is not in force; none: it is.
  std::optional<std::string> problem{};
  std::uint64_t changes = 0;  // that came into force
};

/// Everything that a server serves at one time. Immutable, once it is published.
struct ModelTable {
  std::map<std::string, std::shared_ptr<const ServedEntry>, std::less<>> models;
  /// Models that take their places in `models` once they are ready.
  std::map<std::string, std::shared_ptr<LiveModel>, std::less<>> coming{};
  /// None: the command line said which models there are.
  std::optional<ConfigurationStatus> configuration{};
};

/// Thread-safe.
class ServedModels {
 public:
  /// Requests that come from now on find these. REQUIRES: the caller keeps each entry until nobody else holds
  /// it: a model must not end in a thread that answers
  void publish(ModelTable table);
  std::shared_ptr<const ModelTable> table() const;

  /// \error kNotFound  no model has this name: lists those that there are
  Result<std::shared_ptr<const ServedEntry>> find(std::string_view name) const;
  /// The version that a request means, if it is not for a canary.
  /// \error as `find` and LiveModel::find
  Result<std::shared_ptr<ServedVersion>> find_version(const RequestedModel& requested) const;
  /// The name of the only model, or of the first: for protocols that name none. Empty if there is none.
  std::string first_name() const;

  /// Where requests are logged; null: nowhere. It must outlive this.
  void set_request_log(RequestLog* log) { request_log_ = log; }
  RequestLog* request_log() const { return request_log_; }

  /// Whether every model has a version that is ready.
  bool are_ready() const;
  /// Ascending by name.
  std::vector<std::pair<std::string, std::shared_ptr<LiveModel>>> all() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ModelTable> table_ = std::make_shared<ModelTable>();
  RequestLog* request_log_ = nullptr;
};

/// The canary's version and the shadow's, which the server does not choose for others.
std::vector<VersionName> released_versions(const ServedEntry& entry);
/// Whether a version that the server may choose is ready.
bool can_answer(const ServedEntry& entry);

}  // namespace headrace
