#pragma once

/// \file States that many processes change, kept as numbered objects that are created once:
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

  /// Most changes that wait for the one that is being written.
  static constexpr std::size_t kMostWaiting = 8;

  StateLog(Location folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}

  /// The state that was read or written last. Never waits for the store.
  State known() const;
  /// The latest one: one listing, and one read if it is new.
  Result<State> load(const CallOptions& call);
  /// Reads the state of that number, unless that or a later one is known.
  Status accept(std::uint64_t number, const CallOptions& call);
  bool is_behind(std::uint64_t number) const;
  /// Appends the state that `edit` makes of the latest one, unless it changes nothing; returns it. Changes
  /// that come while another one is being written wait for it, and are then written as one state, in their
  /// order and with the options of one of them. So a change waits for two writes, however many come; only if
  /// that one state would be too large, its changes are written one after another. `edit` may be called in
  /// the thread of another change. The change is made once, even if the driver has repeated a write whose
  /// answer was lost, and others have gone on from there. If `edit` throws anything but JsonError, so does
  /// the call that writes.
  /// \error what `edit` returns for the latest state; it changes nothing then
  /// \error kResourceExhausted  the state would be larger than kStateBytesMax; kMostWaiting changes wait
  /// \error kAborted            others have changed it again and again
  /// \error kUnavailable        the call that was to write it has thrown
  Result<State> change(const Edit& edit, const CallOptions& call);
  /// So many changes wait for the one that is being written.
  std::size_t waiting() const;

 private:
  struct Numbered {
    std::uint64_t number = 0;  // 0: there is none
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
  std::uint64_t number_ = 0;  // of the state that is known; 0: none
  State state_ = std::make_shared<const Json>();
};

/// Brings the logs of a folder of folders up to date: one listing, and one read for each new state, many at
/// a time. Returns the names of all, sorted. A state that cannot be read is told to `warn`, and left out.
Result<std::vector<std::string>> load_latest_states(
    const Location& folder, const std::function<std::shared_ptr<StateLog>(const std::string&)>& log_of,
    const std::function<void(const std::string&)>& warn, const CallOptions& call);

}  // namespace headrace::mlflow
