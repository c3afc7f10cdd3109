#pragma once

/// \file A model that is served: follows which versions are wanted, loads them, finds the version for each
/// request, and ends versions that are no longer wanted. docs/decisions/serving.md, "Which version".

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
/// "fetching", "loading", "warming up", "ready", "draining" or "failed".
std::string_view version_state_name(VersionState state);

struct VersionStatus {
  std::uint64_t number = 0;
  VersionState state = VersionState::kFetching;
  std::optional<Error> error{};  // if kFailed: why. The version is loaded again later
  /// The version was ready, its engine has ended, and the first attempt to load it again is not over.
  bool is_coming_back = false;
};

/// A version, by its number or by a label.
using VersionName = std::variant<std::uint64_t, std::string>;

/// Loads a version, in a thread of its own. It may call `on_state` with kLoading once it has the files. It
/// calls `on_end`, from any thread, if the model ends by itself after it was loaded: see LoadedModel::ended.
/// Fails soon with kCancelled after `stop` is requested.
using LoadVersion = std::function<Result<std::unique_ptr<LoadedModel>>(
    const WantedVersion& version, const std::function<void(VersionState)>& on_state,
    std::function<void()> on_end, const std::stop_token& stop)>;

struct LiveModelParts {
  /// Opens the source of the versions. Called again after an error.
  std::function<Result<std::unique_ptr<ModelSource>>(const CallOptions&)> open_source;
  LoadVersion load;
  /// Tells an operator in a sentence what happens. Called from any thread.
  std::function<void(const std::string&)> remark;
};

struct LiveModelOptions {
  BatcherOptions batching{};
  /// Time between two polls of the store. A random part of up to a quarter is added to each, so that servers
  /// do not poll at the same time.
  std::chrono::milliseconds poll_each{12'000};
  /// Wait before a retry: `retry_first` after the first failure, then doubled up to `retry_last`. If a
  /// version ends within `retry_last` after it became ready, that counts as another failure.
  std::chrono::milliseconds retry_first{1'000};
  std::chrono::milliseconds retry_last{60'000};
  /// How long requests of a version that is no longer wanted may still take.
  std::chrono::milliseconds drain_max{60'000};
  /// Time between two checks of deadlines, of draining versions, and of finished polls and loads.
  std::chrono::milliseconds attend_each{50};
  std::uint64_t jitter_seed = 0;
};

/// A model, its loaded versions, and the thread that attends to them. Thread-safe. Versions are loaded one
/// after another. A version in use is ended only when its successor is ready; if that fails to load, the
/// ready version stays. A store that hangs or a slow load delays no request and no deadline.
class LiveModel {
 public:
  /// Never blocks: the versions are loaded later. `name` is the name that clients use.
  LiveModel(std::string name, LiveModelParts parts, const LiveModelOptions& options);
  /// Cancels a running load, waits up to drain_max for requests in flight, and ends all versions.
  ~LiveModel();
  LiveModel(const LiveModel&) = delete;
  LiveModel& operator=(const LiveModel&) = delete;

  /// Ends all versions without waiting for requests in flight. Never blocks.
  void stop();

  const std::string& name() const;

  /// Finds the version with this number or this label. If neither is given, the server chooses: the version
  /// with the label "latest" if it is ready, else the highest that is ready. It chooses none of `besides`
  /// unless the model has no other. Keep the version until the request is answered. Never blocks.
  /// \error kNotFound     there is no such version or label
  /// \error kUnavailable  the version is not ready, or no version is known yet; the message says which
  Result<std::shared_ptr<ServedVersion>> find(std::optional<std::uint64_t> version,
                                              std::optional<std::string_view> label,
                                              const std::vector<VersionName>& besides = {}) const;
  Result<std::shared_ptr<ServedVersion>> find(const VersionName& version) const;

  using Found = std::function<void(Result<std::shared_ptr<ServedVersion>>)>;
  /// As `find`, but waits until the deadline for a version that is coming back. Never blocks: `found` is
  /// called once, either before this returns or later from the thread of this model. Its errors are those of
  /// `find`, and:
  /// \error kDeadlineExceeded   the version has not come back in time
  /// \error kResourceExhausted  too many requests wait already
  void await(std::optional<std::uint64_t> version, std::optional<std::string_view> label,
             std::chrono::steady_clock::time_point deadline, Found found,
             const std::vector<VersionName>& besides = {}) const;

  /// Whether `find` without a number or label gives a version.
  bool is_ready() const;
  /// All versions, ascending by number.
  std::vector<VersionStatus> statuses() const;
  std::map<std::string, std::uint64_t, std::less<>> labels() const;
  std::vector<std::shared_ptr<ServedVersion>> ready_versions() const;

 private:
  class Worker;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace headrace
