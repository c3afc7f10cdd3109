#pragma once

/// \file States that several processes change, stored as numbered objects that are created only once:
/// docs/formats/mlflow-state.md.
///
///   StateLog log(root.at("_headrace/mlflow/runs/17"), "headrace.mlflow.run");
///   HEADRACE_CHECK(log.change([](Json& state) -> Status { state["name"] = "first"; return {}; }, call));

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/base/json.h"
#include "headrace/store/location.h"

namespace headrace::mlflow {

/// A whole state: a JSON object; JSON null if there is none. The pointer is never null.
using State = std::shared_ptr<const Json>;

/// The states of one entity: a run, a logged model, or the experiments of a folder. Thread-safe; other
/// processes may change the same states.
class StateLog {
 public:
  /// Changes a state, which is an object. It may be called several times: first with the known state, which
  /// need not be the latest, and again with states that others have written meanwhile. It may throw
  /// JsonError.
  using Edit = std::function<Status(Json& state)>;

  /// Largest number of changes that wait for the one that is being written.
  static constexpr std::size_t kMostWaiting = 8;

  StateLog(Location folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}

  /// The state that was last read or written. Never waits for the store.
  State known() const;
  /// Returns the latest state. Cost: one listing, and one read if the state is new.
  Result<State> load(const CallOptions& call);
  /// Reads the state with this number, unless it or a later one is known.
  Status accept(std::uint64_t number, const CallOptions& call);
  /// Whether the known state is older than the state with this number.
  bool is_behind(std::uint64_t number) const;
  /// Applies `edit` to the latest state, appends the result unless nothing changed, and returns it. Changes
  /// that arrive while another one is being written wait for it. They are then written together as one state,
  /// in their order and with the call options of one of them. So a change waits for at most two writes,
  /// however many arrive; only if that one state would be too large are its changes written one after
  /// another. `edit` may be called in the thread of another change. The change is made once, even if the
  /// driver has repeated a write whose answer was lost and others have appended after it. If `edit` throws
  /// anything but JsonError, the call that writes throws it.
  /// \error of `edit` for the latest state: nothing is changed
  /// \error kResourceExhausted  the state would be larger than kStateBytesMax; or kMostWaiting changes wait
  /// \error kAborted            other processes have changed the state again and again
  /// \error kUnavailable        the call that should have written this change has thrown
  Result<State> change(const Edit& edit, const CallOptions& call);
  /// Number of changes that wait for the one that is being written.
  std::size_t waiting() const;

 private:
  struct Numbered {
    std::uint64_t number = 0;  // 0: there is no state
    State state;
  };
  struct Change {
    const Edit* edit;
    Status refusal{};  // of the edit
    std::optional<Result<State>> result{};
  };
  using Changes = std::vector<Change*>;
  class Turn;
  enum class Appended : std::uint8_t { kYes, kNumberIsTaken, kTooLarge };

  void write(const Changes& changes, const CallOptions& call);
  void decide(const Changes& changes, const Status& written);
  Result<bool> write_together(const Changes& changes, const CallOptions& call);
  Json edit(const Changes& changes, const Json& before) const;
  Result<Appended> append(std::uint64_t number, Json state, const CallOptions& call);
  Status load_latest(const CallOptions& call);
  Result<State> read(std::uint64_t number, const CallOptions& call) const;
  void take(std::uint64_t number, Json state);
  Numbered known_numbered() const;

  const Location folder_;
  const std::string kind_;

  mutable std::mutex waiting_mutex_;  // guards the next three; not held over calls of the store
  std::condition_variable written_;
  Changes waiting_;
  bool is_writing_ = false;

  mutable std::mutex mutex_;  // guards what follows
  std::uint64_t number_ = 0;  // of the known state; 0: none
  State state_ = std::make_shared<const Json>();
};

/// Brings the logs of all folders in `folder` up to date. Returns the names of these folders, sorted. Calls
/// `warn` for each state that is damaged or too new; its log does not change. If `log_of` returns null for a
/// name, that folder is left out. Cost: one listing, and one read for each new state, many at a time.
Result<std::vector<std::string>> load_latest_states(
    const Location& folder, const std::function<std::shared_ptr<StateLog>(const std::string&)>& log_of,
    const std::function<void(const std::string&)>& warn, const CallOptions& call);

}  // namespace headrace::mlflow
