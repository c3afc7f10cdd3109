#pragma once

/// \file States that many processes change, kept as numbered objects that are created once:
/// docs/formats/mlflow-state.md.
///
///   StateLog log(root.at("_headrace/mlflow/runs/17"), "headrace.mlflow.run");
///   HEADRACE_CHECK(log.change([](Json& state) -> Status { state["name"] = "first"; return {}; }, call));

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/store/location.h"

namespace headrace::mlflow {

/// A whole state, an object; null if there is none.
using State = std::shared_ptr<const Json>;

/// The states of one thing: a run, a logged model, or the experiments of a folder. Thread-safe; other
/// processes may change the same states.
class StateLog {
 public:
  /// Changes the state that it is given, which is an object. It may be called several times: first with the
  /// state that is known, which need not be the latest, and again with those that others have written
  /// meanwhile. It may throw JsonError.
  using Edit = std::function<Status(Json& state)>;

  StateLog(Location folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}

  /// The state that was read or written last. Never waits for the store.
  State known() const;
  /// The latest one: one listing, and one read if it is new.
  Result<State> load(const CallOptions& call);
  /// Takes the state of that number, unless a later one is known. `content`: its bytes, if they were read.
  Status accept(std::uint64_t number, std::optional<std::string_view> content, const CallOptions& call);
  bool is_behind(std::uint64_t number) const;
  /// Appends the state that `edit` makes of the latest one, unless it changes nothing; returns it.
  /// \error what `edit` returns for the latest state; nothing is written then
  /// \error kResourceExhausted  the state would be larger than kStateBytesMax
  /// \error kAborted            others have changed it again and again
  Result<State> change(const Edit& edit, const CallOptions& call);

 private:
  Result<bool> append(Json state, const CallOptions& call);
  Status load_latest(const CallOptions& call);
  void take(std::uint64_t number, Json state);

  const Location folder_;
  const std::string kind_;
  std::mutex changing_;  // held over calls of the store; taken first
  mutable std::mutex mutex_;
  std::uint64_t number_ = 0;  // of the state that is known; 0: none
  State state_ = std::make_shared<const Json>();
};

/// Brings the logs of a folder of folders up to date: one listing, and one read for each new state, many at
/// a time. Returns the names of all, sorted. A state that cannot be read is told to `warn`, and left out.
Result<std::vector<std::string>> load_latest_states(
    const Location& folder, const std::function<std::shared_ptr<StateLog>(const std::string&)>& log_of,
    const std::function<void(const std::string&)>& warn, const CallOptions& call);

}  // namespace headrace::mlflow
