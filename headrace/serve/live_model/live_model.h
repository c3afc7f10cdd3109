#pragma once

/// \file A model that is served: follows which versions are wanted, loads them, lets requests go to them, and
/// ends those that nobody wants any more. docs/decisions/serving.md, "Which version".

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/serve/live_model/served_version.h"
#include "headrace/serve/version/model_source.h"

namespace headrace {

enum class VersionState : std::uint8_t { kFetching, kLoading, kWarming, kReady, kDraining, kFailed };
/// "fetching" …
std::string_view version_state_name(VersionState state);

struct VersionStatus {
  std::uint64_t number = 0;
  VersionState state = VersionState::kFetching;
  std::optional<Error> error{};  // of kFailed: why; it is tried again
  /// It was ready, and its engine has ended: it is being loaded for the first time since.
  bool is_coming_back = false;
};

/// A version by its number, or by a label that stands for one.
using VersionName = std::variant<std::uint64_t, std::string>;

/// Loads a version; runs in a thread of its own. `on_state` may be told kLoading once the files are there.
/// `on_end` is called, from any thread, if the model ends by itself after it was loaded: see
/// LoadedModel::ended. Ends early with kCancelled.
using LoadVersion = std::function<Result<std::unique_ptr<LoadedModel>>(
    const WantedVersion& version, const std::function<void(VersionState)>& on_state,
    std::function<void()> on_end, const std::stop_token& stop)>;

struct LiveModelParts {
  /// Called again after an error.
  std::function<Result<std::unique_ptr<ModelSource>>(const CallOptions&)> open_source;
  LoadVersion load;
  /// Tells an operator what happens, in sentences. Any thread.
  std::function<void(const std::string&)> remark;
};

struct LiveModelOptions {
  BatcherOptions batching{};
  /// Between two looks at the store; each is up to a quarter later, so that servers do not ask together.
  std::chrono::milliseconds poll_each{12'000};
  /// After a failure: the first wait, which doubles up to the last. A version that ends sooner than the last
  /// after it was ready has failed again.
  std::chrono::milliseconds retry_first{1'000};
  std::chrono::milliseconds retry_last{60'000};
  /// How long the requests of a version that is not wanted any more may take.
  std::chrono::milliseconds drain_max{60'000};
  /// Between two looks at deadlines, at versions that drain, and at what was polled and loaded.
  std::chrono::milliseconds attend_each{50};
  std::uint64_t jitter_seed = 0;
};

/// Thread-safe. Versions are loaded one after another. A version that is asked is ended only when its
/// successor is ready; a failure keeps the one that is ready. A store that hangs, or a load that takes long,
/// holds up no request and no deadline.
class LiveModel {
 public:
  /// Returns at once. `name`: as clients know it.
  LiveModel(std::string name, LiveModelParts parts, const LiveModelOptions& options);
  /// Stops what is being loaded, and ends all versions, after up to drain_max for requests in flight.
  ~LiveModel();
  LiveModel(const LiveModel&) = delete;
  LiveModel& operator=(const LiveModel&) = delete;

  /// Ends everything at once, requests in flight, too: they have had their time. Returns at once.
  void stop();

  const std::string& name() const;

  /// The version with this number, or with this label, or the server's choice: label "latest", else the
  /// highest that is ready. The server chooses none of `besides`, unless the model has no other. Keep the
  /// version until the request is answered.
  /// \error kNotFound     there is no such version or label
  /// \error kUnavailable  it is not ready: says why
  Result<std::shared_ptr<ServedVersion>> find(std::optional<std::uint64_t> version,
                                              std::optional<std::string_view> label,
                                              const std::vector<VersionName>& besides = {}) const;
  Result<std::shared_ptr<ServedVersion>> find(const VersionName& version) const;

  using Found = std::function<void(Result<std::shared_ptr<ServedVersion>>)>;
  /// As `find`, but waits for a version that is coming back, until the deadline. Never blocks: `found` is
  /// called once, at once or from the thread of this.
  /// \error kDeadlineExceeded   it has not come back in time
  /// \error kResourceExhausted  too many requests wait already
  void await(std::optional<std::uint64_t> version, std::optional<std::string_view> label,
             std::chrono::steady_clock::time_point deadline, Found found,
             const std::vector<VersionName>& besides = {}) const;

  /// Whether `find` of the server's choice gives a version.
  bool is_ready() const;
  /// Ascending by number.
  std::vector<VersionStatus> statuses() const;
  std::map<std::string, std::uint64_t, std::less<>> labels() const;
  std::vector<std::shared_ptr<ServedVersion>> ready_versions() const;

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace headrace
