#include "headrace/mlflow/state_log.h"

#include <algorithm>
#include <map>
#include <new>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/os/parallel.h"
#include "headrace/store/numbered.h"

namespace headrace::mlflow {
namespace {

constexpr int kMostAttempts = 200;
constexpr int kStateReaders = 8;
constexpr std::string_view kChange = "change";

std::string prefix_of(const Location& folder) { return concat(folder.key, '/'); }

// Runs `edit`. If a malformed state makes it throw, returns an error that names the state.
Status edited(const StateLog::Edit& edit, Json& state, const Location& folder) {
  return read_document(state, concat(folder.describe(), " has a malformed state"),
                       [&](const Json&) -> Status { return edit(state); });
}

}  // namespace

State StateLog::known() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

StateLog::Numbered StateLog::known_numbered() const {
  const std::scoped_lock lock(mutex_);
  return {number_, state_};
}

bool StateLog::is_behind(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  return number > number_;
}

void StateLog::take(std::uint64_t number, Json state) {
  const std::scoped_lock lock(mutex_);
  if (number <= number_) return;
  number_ = number;
  state_ = std::make_shared<const Json>(std::move(state));
}

Status StateLog::accept(std::uint64_t number, const CallOptions& call) {
  if (!is_behind(number)) return {};
  HEADRACE_TRY(const State state, read(number, call));
  take(number, *state);
  return {};
}

Result<State> StateLog::read(std::uint64_t number, const CallOptions& call) const {
  const std::string key = numbered_key(prefix_of(folder_), number);
  HEADRACE_TRY(const ReadObject object, read_object(*folder_.store, key, kStateBytesMax, call));
  HEADRACE_TRY(Json state, parse_state(as_text(object.data), kind_, folder_.store->describe(key)));
  return std::make_shared<const Json>(std::move(state));
}

Status StateLog::load_latest(const CallOptions& call) {
  HEADRACE_TRY(const auto latest, latest_number(*folder_.store, prefix_of(folder_), call));
  return latest ? accept(*latest, call) : Status{};
}

Result<State> StateLog::load(const CallOptions& call) {
  HEADRACE_CHECK(load_latest(call));
  return known();
}

std::size_t StateLog::waiting() const {
  const std::scoped_lock lock(waiting_mutex_);
  return waiting_.size();
}

// The right to write. Its destructor, which also runs after an exception, gives every change a result,
// because the changes' threads wait for one.
class StateLog::Turn {
 public:
  Turn(StateLog& log, const Changes& changes) : log_(log), changes_(changes) {}
  ~Turn() {
    const std::scoped_lock lock(log_.waiting_mutex_);
    for (Change* const change : changes_) {
      // Memory may have run out, and this text needs none.
      if (!change->result) change->result = Error{Code::kUnavailable, "writing failed"};
    }
    log_.is_writing_ = false;
    log_.written_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  StateLog& log_;
  const Changes& changes_;
};

Result<State> StateLog::change(const Edit& edit, const CallOptions& call) {
  Change own{.edit = &edit};
  std::unique_lock lock(waiting_mutex_);
  if (waiting_.size() >= kMostWaiting) {
    return Error{Code::kResourceExhausted,
                 concat("many changes of ", folder_.describe(), " wait for the store; try again")};
  }
  waiting_.push_back(&own);
  // The deadlines of the write in progress bound this wait.
  written_.wait(lock, [&] { return own.result || !is_writing_; });
  if (!own.result) {
    is_writing_ = true;
    const Changes changes = std::exchange(waiting_, {});
    lock.unlock();
    const Turn turn(*this, changes);
    write(changes, call);
  }
  return *std::move(own.result);
}

// Writes the changes, and gives each a result.
void StateLog::write(const Changes& changes, const CallOptions& call) {
  Result<bool> written = false;
  try {
    written = write_together(changes, call);
  } catch (const std::bad_alloc&) {  // the other threads still wait for a result
    written = Error{Code::kResourceExhausted, "memory ran out"};
  }
  if (written && !*written && changes.size() > 1) {
    for (Change* const change : changes) write({change}, call);  // too large together: writes each alone
  } else if (written && !*written) {
    decide(changes,
           Error{Code::kResourceExhausted, concat(folder_.describe(), " would have a state of more than ",
                                                  kStateBytesMax, " bytes. Log large texts as artifacts")});
  } else {
    decide(changes, written ? Status{} : Status(written.error()));
  }
}

void StateLog::decide(const Changes& changes, const Status& written) {
  const State state = known();
  const std::scoped_lock lock(waiting_mutex_);  // their threads read the results
  for (Change* const change : changes) {
    if (change->result) continue;
    const Status& outcome = written ? change->refusal : written;
    change->result = outcome ? Result<State>(state) : Result<State>(outcome.error());
  }
}

// Returns false, and writes nothing, if the state would be too large.
Result<bool> StateLog::write_together(const Changes& changes, const CallOptions& call) {
  bool is_latest = false;  // if it is not the latest, creating its successor fails
  for (int attempt = 0; attempt < kMostAttempts; ++attempt, is_latest = true) {
    const Numbered before = known_numbered();
    const Json old = before.state->is_null() ? Json::object() : *before.state;
    Json state = edit(changes, old);
    if (state != old) {  // if it gets a successor, it was the latest, so refusals hold too
      HEADRACE_TRY(const Appended appended, append(before.number + 1, std::move(state), call));
      if (appended != Appended::kNumberIsTaken) return appended == Appended::kYes;
    } else if (is_latest) {
      return true;
    } else {  // refused, or nothing to do: checks that against the latest state
      HEADRACE_CHECK(load_latest(call));
    }
  }
  return Error{Code::kAborted,
               concat(folder_.describe(), " was changed by others again and again; try again")};
}

// Applies the changes in order. A refused change does not alter the state.
Json StateLog::edit(const Changes& changes, const Json& before) const {
  Json state = before;
  for (Change* const change : changes) {
    Json next = state;
    change->refusal = edited(*change->edit, next, folder_);
    if (change->refusal) state = std::move(next);
  }
  return state;
}

Result<StateLog::Appended> StateLog::append(std::uint64_t number, Json state, const CallOptions& call) {
  const std::string change = concat(hex64(random_name_bits()), hex64(random_name_bits()));
  state[kChange] = change;
  const std::string content = serialize_state(state, kind_);
  if (content.size() > kStateBytesMax) return Appended::kTooLarge;
  const auto created = create_numbered(*folder_.store, prefix_of(folder_), number, as_bytes(content), call);
  if (!created && created.error().code != Code::kAlreadyExists) return created.error();
  if (created) {
    take(number, std::move(state));
    return Appended::kYes;
  }
  HEADRACE_CHECK(load_latest(call));
  const Numbered latest = known_numbered();
  State taken = latest.state;
  if (latest.number != number) {  // other processes have written later states
    HEADRACE_TRY(taken, read(number, call));
  }
  const bool is_ours = (*taken)[kChange] == Json(change);  // if so, only the answer to an attempt was lost
  return is_ours ? Appended::kYes : Appended::kNumberIsTaken;
}

Result<std::vector<std::string>> load_latest_states(
    const Location& folder, const std::function<std::shared_ptr<StateLog>(const std::string&)>& log_of,
    const std::function<void(const std::string&)>& warn, const CallOptions& call) {
  HEADRACE_TRY(const auto latest, latest_numbers(*folder.store, prefix_of(folder), call));
  std::vector<std::string> names;
  std::vector<std::pair<std::shared_ptr<StateLog>, std::uint64_t>> behind;
  for (const auto& [name, state] : latest) {
    const auto log = log_of(name);
    if (log == nullptr) continue;  // the name belongs to no run
    names.push_back(name);
    if (log->is_behind(state.number)) behind.emplace_back(log, state.number);
  }
  std::vector<Status> accepted(behind.size());
  HEADRACE_CHECK(parallel_for(kStateReaders, behind.size(), [&](std::size_t i) -> Status {
    accepted[i] = behind[i].first->accept(behind[i].second, call);
    if (accepted[i] || accepted[i].error().code == Code::kDataLoss ||
        accepted[i].error().code == Code::kUnimplemented)
      return {};
    return accepted[i];
  }));
  for (const Status& each : accepted) {
    if (!each) warn(each.error().message);
  }
  return names;
}

}  // namespace headrace::mlflow
