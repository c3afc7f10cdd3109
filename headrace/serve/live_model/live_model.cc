#include "headrace/serve/live_model/live_model.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <random>
#include <set>
#include <system_error>
#include <thread>

#include "headrace/base/text.h"
#include "headrace/model/named_model.h"
#include "headrace/serve/live_model/warm_up.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

// A call that may take long and runs in its own thread. The caller takes the result once the call is done.
template <typename T>
class LongCall {
 public:
  bool is_running() const { return result_.valid(); }
  bool is_done() const {
    return result_.valid() && result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// \error kResourceExhausted  the system refuses a thread
  template <typename Function>
  Status start(Function function) {
    try {
      result_ = std::async(std::launch::async, std::move(function));
      return {};
    } catch (const std::system_error& error) {
      return Error{Code::kResourceExhausted, concat("starting a thread: ", error.what())};
    }
  }
  /// Waits for the result.
  T take() { return result_.get(); }

 private:
  std::future<T> result_;
};

// Everything about one version that the worker knows.
struct VersionRecord {
  std::shared_ptr<const WantedVersion> wanted;
  std::shared_ptr<ServedVersion> served{};  // null: not ready
  VersionStatus loading{};                  // what `statuses` shows if the version is not ready
  bool was_ready = false;
  bool is_coming_back = false;
  int failures = 0;  // consecutive failures
  Clock::time_point retry_at{};
  Clock::time_point ready_since{};

  // Different content may have been published under the same number.
  bool is_to_be_loaded() const { return !served || served->digest() != wanted->digest; }
};

// The versions that requests find. Immutable.
struct VersionTable {
  std::map<std::uint64_t, std::shared_ptr<ServedVersion>> ready;
  std::map<std::uint64_t, VersionStatus> statuses;
  std::map<std::string, std::uint64_t, std::less<>> labels;
};

// Wakes the worker from any thread.
struct WorkerBell {
  std::mutex mutex;
  std::condition_variable_any has_rung;
  bool rings = false;

  void ring() {
    const std::scoped_lock lock(mutex);
    rings = true;
    has_rung.notify_all();
  }
};

}  // namespace

std::string_view version_state_name(VersionState state) {
  constexpr std::array<std::string_view, 6> kNames = {"fetching", "loading",  "warming up",
                                                      "ready",    "draining", "failed"};
  return kNames[static_cast<std::size_t>(state)];
}

namespace {

// Gives the state only. Reasons are for operators: they may name places that clients need not know.
Error not_ready(const std::string& name, const VersionStatus& status) {
  return {Code::kUnavailable, concat("version ", status.number, " of ", name, " is ",
                                     version_state_name(status.state), "; try again")};
}

std::set<std::uint64_t> numbers_of(const VersionTable& table, const std::vector<VersionName>& versions) {
  std::set<std::uint64_t> out;
  for (const VersionName& version : versions) {
    if (const auto* const number = std::get_if<std::uint64_t>(&version)) {
      out.insert(*number);
    } else if (const auto label = table.labels.find(std::get<std::string>(version));
               label != table.labels.end()) {
      out.insert(label->second);
    }
  }
  return out;
}

// The version to use if a request names none.
std::optional<std::uint64_t> chosen_number(const VersionTable& table,
                                           const std::set<std::uint64_t>& besides) {
  const auto latest = table.labels.find(kLatestAlias);
  if (latest != table.labels.end() && !besides.contains(latest->second) &&
      table.ready.contains(latest->second))
    return latest->second;
  for (auto at = table.ready.rbegin(); at != table.ready.rend(); ++at) {
    if (!besides.contains(at->first)) return at->first;
  }
  for (auto at = table.statuses.rbegin(); at != table.statuses.rend(); ++at) {
    const bool may_come = besides.empty() || at->second.state != VersionState::kDraining;
    if (!besides.contains(at->first) && may_come) return at->first;
  }
  return besides.empty() ? std::nullopt : chosen_number(table, {});
}

}  // namespace

class LiveModel::Worker {
 public:
  Worker(std::string name, LiveModelParts parts, const LiveModelOptions& options)
      : name_(std::move(name)),
        parts_(std::move(parts)),
        options_(options),
        jitter_(options.jitter_seed),
        thread_([this](const std::stop_token& stop) { work(stop); }) {}

  const std::string& name() const { return name_; }

  void stop() {
    is_stopped_ = true;
    thread_.request_stop();
  }

  std::shared_ptr<const VersionTable> table() const {
    const std::scoped_lock lock(table_mutex_);
    return table_;
  }

  void await(std::optional<std::uint64_t> version, std::optional<std::string_view> label,
             const std::vector<VersionName>& besides, Clock::time_point deadline, Found found) {
    auto now = look_up(*table(), version, label, besides);
    const bool is_to_wait = !now.version && now.is_coming_back;
    if (!is_to_wait) return found(std::move(now.version));
    std::unique_lock lock(waiting_mutex_);
    if (is_closed_) {
      lock.unlock();
      return found(Error{Code::kUnavailable, concat(name_, " is no longer served")});
    }
    if (waiting_.size() < kWaitingMax) {
      waiting_.push_back({version, label ? std::optional(std::string(*label)) : std::nullopt, besides,
                          deadline, std::move(found)});
      return;
    }
    lock.unlock();
    found(Error{Code::kResourceExhausted, concat("too many requests wait for ", name_, " to come back")});
  }

  struct LookedUp {
    Result<std::shared_ptr<ServedVersion>> version;
    bool is_coming_back = false;
  };
  LookedUp look_up(const VersionTable& table, std::optional<std::uint64_t> version,
                   std::optional<std::string_view> label, const std::vector<VersionName>& besides) const {
    if (label) {
      const auto found = table.labels.find(*label);
      if (found == table.labels.end())
        return {Error{Code::kNotFound, concat("the model ", name_, " has no label ", *label)}};
      version = found->second;
    }
    if (!version) version = chosen_number(table, numbers_of(table, besides));
    if (!version) {
      return {Error{
          Code::kUnavailable,
          concat("the model ", name_, " has no version yet; the server looks for one every few seconds")}};
    }
    const auto ready = table.ready.find(*version);
    if (ready != table.ready.end() && ready->second->ended()) {
      // The worker has not noticed this yet.
      return {Error{Code::kUnavailable,
                    concat("the engine of version ", *version, " of ", name_, " has ended; try again")},
              true};
    }
    if (ready != table.ready.end()) return {ready->second};
    const auto status = table.statuses.find(*version);
    if (status != table.statuses.end())
      return {not_ready(name_, status->second), status->second.is_coming_back};
    return {Error{Code::kNotFound, concat("the model ", name_, " has no version ", *version)}};
  }

 private:
  // No step here takes long: polls of the store and loads run in threads of their own.
  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      take_poll();
      take_load();
      take_ends();
      settle();
      start_poll(stop);
      start_load();
      publish();
      attend();
      std::unique_lock lock(bell_->mutex);
      bell_->has_rung.wait_for(lock, stop, options_.attend_each, [this] { return bell_->rings; });
      bell_->rings = false;
    }
    loading_stop_.request_stop();
    if (polling_.is_running()) static_cast<void>(polling_.take());
    if (loading_.is_running()) {
      if (auto last = loading_.take()) retire(*std::move(last));
    }
    drain_all();
  }

  // Handles requests and retired versions whose time is up.
  void attend() {
    for (auto& [number, record] : records_) {
      if (record.served) record.served->expire();
    }
    end_retired();
    answer_waiting();
  }

  Clock::duration until_next_poll() {
    std::uniform_int_distribution<std::int64_t> later(0, options_.poll_each.count() / 4);
    return options_.poll_each + std::chrono::milliseconds(later(jitter_));
  }

  Clock::duration retry_wait(int failures) const {
    const int doublings = std::clamp(failures - 1, 0, 16);
    return std::min(options_.retry_first * (1 << doublings), options_.retry_last);
  }

  void start_poll(const std::stop_token& stop) {
    if (polling_.is_running() || Clock::now() < poll_at_) return;
    const Status started = polling_.start([this, stop] { return poll(stop); });
    if (!started) finish_poll(started);
  }

  // Runs in its own thread, the only one that uses the source.
  Result<WantedVersions> poll(const std::stop_token& stop) {
    const CallOptions call{.stop = stop};
    if (!source_) {
      HEADRACE_TRY(source_, parts_.open_source(call));
      remark(concat(name_, ": follows ", source_->describe()));
    } else {
      HEADRACE_CHECK(source_->poll(call));
    }
    return source_->wanted();
  }

  void take_poll() {
    if (!polling_.is_done()) return;
    const Result<WantedVersions> wanted = polling_.take();
    if (wanted) {
      if (wanted->remarks.empty()) remarked_.clear();  // former problems are over
      for (const std::string& each : wanted->remarks) remark_once(each);
      want(*wanted);
    }
    finish_poll(wanted ? Status() : Status(wanted.error()));
  }

  // Polls again sooner after an error, or while there is no version, so that a new model appears soon.
  void finish_poll(const Status& polled) {
    const bool is_to_hurry = !polled || records_.empty();
    hurried_polls_ = is_to_hurry ? hurried_polls_ + 1 : 0;
    const Clock::duration wait = until_next_poll();
    poll_at_ = Clock::now() + (is_to_hurry ? std::min(retry_wait(hurried_polls_), wait) : wait);
    if (!polled) remark_once(polled.error().message);
  }

  void want(const WantedVersions& wanted) {
    wanted_labels_ = wanted.labels;
    wanted_numbers_.clear();
    for (const auto& version : wanted.versions) {
      wanted_numbers_.insert(version->number);
      VersionRecord& record = records_[version->number];
      if (record.wanted && record.wanted->digest == version->digest) continue;
      record.wanted = version;
      record.loading.number = version->number;
      record.failures = 0;
      record.retry_at = {};
    }
  }

  // Loads versions that are coming back first, then the highest number. Stops a load whose version is no
  // longer wanted, or that delays a version that is coming back.
  void start_load() {
    VersionRecord* next = nullptr;
    for (auto& [number, record] : records_) {
      const bool is_due = record.is_to_be_loaded() && Clock::now() >= record.retry_at;
      if (is_due && (next == nullptr || record.is_coming_back || !next->is_coming_back)) next = &record;
    }
    if (loading_.is_running()) {
      const auto loaded = records_.find(loading_version_->number);
      const bool is_wanted = loaded != records_.end() && loaded->second.wanted == loading_version_;
      const bool makes_way =
          is_wanted && next != nullptr && next->is_coming_back && !loaded->second.is_coming_back;
      if (!is_wanted || makes_way) loading_stop_.request_stop();
      return;
    }
    if (next == nullptr) return;
    loading_state_ = VersionState::kFetching;
    loading_version_ = next->wanted;
    loading_stop_ = std::stop_source();
    const Status started =
        loading_.start([this, wanted = next->wanted, has_failed = next->failures != 0,
                        stop = loading_stop_.get_token()] { return load(*wanted, has_failed, stop); });
    if (started) return;
    loading_version_ = nullptr;
    fail(*next, started.error());
  }

  // Runs in its own thread. After a failure, it loads without warm-up records, which may have been the cause.
  Result<std::shared_ptr<ServedVersion>> load(const WantedVersion& wanted, bool has_failed,
                                              const std::stop_token& stop) {
    const auto tell = [this](VersionState state) { loading_state_ = state; };
    const auto on_end = [bell = bell_] { bell->ring(); };
    HEADRACE_TRY(std::unique_ptr<LoadedModel> model, parts_.load(wanted, tell, on_end, stop));
    const auto records = has_failed ? LoggedRecords{} : model->warm_up_records({.stop = stop});
    auto served =
        std::make_shared<ServedVersion>(wanted.number, wanted.digest, std::move(model), options_.batching);
    tell(VersionState::kWarming);
    // Does not capture `served`, which the return moves while the callback may still run.
    const std::stop_callback end_early(stop, [&version = *served] { version.end(); });
    Status warmed = run_zeros(*served);
    if (warmed) warmed = play(*served, records, stop);
    if (warmed) return served;
    finish(*served);
    return std::move(warmed).error();
  }

  // Remarks on problems with the records. Such problems do not keep a version from becoming ready.
  // \error as run_records
  Status play(ServedVersion& served, const Result<LoggedRecords>& records,
              const std::stop_token& stop) const {
    const std::string version = concat(name_, ": version ", served.number());
    if (!records) {
      remark(concat(version, " warms up without requests: ", records.error().message));
      return {};
    }
    if (!records->remark.empty()) remark(concat(version, ", its warm-up requests: ", records->remark));
    if (records->records.empty()) return {};
    HEADRACE_TRY(const WarmUpReport report, run_records(served, *records, stop));
    std::string told = concat(version, ", its warm-up requests: ", report.ran, " ran");
    if (report.left_out != 0)
      told +=
          concat(", ", report.left_out, " left out, the first for: ", report.first_left_out.error().message);
    remark(told);
    return {};
  }

  void take_load() {
    if (loading_.is_done()) take_load_result(loading_.take());
  }

  void take_load_result(Result<std::shared_ptr<ServedVersion>> loaded) {
    const std::shared_ptr<const WantedVersion> wanted = std::exchange(loading_version_, nullptr);
    const auto found = records_.find(wanted->number);
    const bool is_wanted = found != records_.end() && found->second.wanted->digest == wanted->digest;
    if (!is_wanted) {
      if (loaded) retire(*std::move(loaded));
      return;
    }
    VersionRecord& record = found->second;
    if (!loaded && loading_stop_.stop_requested()) return;  // the load was stopped, and is retried
    record.is_coming_back = false;
    if (!loaded) return fail(record, std::move(loaded).error());
    std::swap(record.served, *loaded);
    if (*loaded) retire(*std::move(loaded));
    record.was_ready = true;
    record.ready_since = Clock::now();
    remark(concat(name_, ": version ", wanted->number, " is ready"));
  }

  void fail(VersionRecord& record, Error error) {
    ++record.failures;
    const Clock::duration wait = retry_wait(record.failures);
    record.retry_at = Clock::now() + wait;
    remark(concat(name_, ": version ", record.wanted->number, " failed, and is tried again in ",
                  std::chrono::duration_cast<std::chrono::milliseconds>(wait).count(),
                  " ms: ", error.message));
    record.loading = {.number = record.wanted->number,
                      .state = VersionState::kFailed,
                      .error = std::move(error),
                      .is_coming_back = record.is_coming_back};
  }

  // Reloads versions whose engine has ended. Requests wait for such a version unless it has also failed
  // recently.
  void take_ends() {
    for (auto& [number, record] : records_) {
      if (!record.served) continue;
      auto end = record.served->ended();
      if (!end) continue;
      if (Clock::now() - record.ready_since >= options_.retry_last) record.failures = 0;
      record.is_coming_back = record.failures == 0;
      fail(record, *std::move(end));
      retire(std::move(record.served));
    }
  }

  // Decides which labels are in force and which versions may go.
  void settle() {
    for (const auto& [label, number] : wanted_labels_) {
      if (is_ready(number)) labels_[label] = number;
    }
    std::erase_if(labels_, [&](const auto& each) { return !wanted_labels_.contains(each.first); });
    const bool has_successor =
        std::ranges::any_of(wanted_numbers_, [&](auto number) { return is_ready(number); });
    for (auto at = records_.begin(); at != records_.end();) {
      const std::uint64_t number = at->first;
      VersionRecord& record = at->second;
      const bool has_label =
          std::ranges::any_of(labels_, [&](const auto& label) { return label.second == number; });
      const bool is_needed = record.was_ready && !has_successor;
      if (wanted_numbers_.contains(number) || has_label || is_needed) {
        ++at;
        continue;
      }
      if (record.served) {
        remark(concat(name_, ": version ", number, " is no longer wanted"));
        retire(std::move(record.served));
      }
      at = records_.erase(at);
    }
  }

  bool is_ready(std::uint64_t number) const {
    const auto found = records_.find(number);
    return found != records_.end() && found->second.served;
  }

  // Gives the requests of a version that has left the table some time to end.
  void retire(std::shared_ptr<ServedVersion> version) {
    const Clock::duration time = is_stopped_ ? Clock::duration() : Clock::duration(options_.drain_max);
    retired_.push_back({std::move(version), Clock::now() + time, false});
  }

  // Requests that found a version earlier may still reach it until no one else holds it.
  void end_retired() {
    std::erase_if(retired_, [&](Retired& each) {
      each.version->expire();
      if (each.version.use_count() == 1 && each.version->is_idle()) {
        finish(*each.version);
        return true;
      }
      if (!each.is_ended && Clock::now() >= each.drain_until) {
        finish(*each.version);
        each.is_ended = true;
      }
      return false;
    });
  }

  void finish(ServedVersion& version) const {
    version.refuse({Code::kUnavailable,
                    concat("version ", version.number(), " of ", name_, " is no longer served; try again")});
    version.end();
  }

  void drain_all() {
    for (auto& [number, record] : records_) {
      if (record.served) retire(std::move(record.served));
    }
    records_.clear();
    wanted_numbers_.clear();
    publish();
    while (!retired_.empty()) {
      attend();
      if (!retired_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    {
      const std::scoped_lock lock(waiting_mutex_);
      is_closed_ = true;
    }
    attend();
  }

  void publish() {
    auto made = std::make_shared<VersionTable>();
    made->labels = labels_;
    for (const auto& [number, record] : records_) {
      made->statuses[number] = record.loading;
      if (record.wanted == loading_version_) {
        made->statuses[number] = {
            .number = number, .state = loading_state_, .is_coming_back = record.is_coming_back};
      }
      if (!record.served) continue;
      made->statuses[number] = {.number = number, .state = VersionState::kReady};
      made->ready[number] = record.served;
    }
    for (const Retired& each : retired_) {
      const std::uint64_t number = each.version->number();
      made->statuses.try_emplace(number, VersionStatus{.number = number, .state = VersionState::kDraining});
    }
    const std::scoped_lock lock(table_mutex_);
    table_ = std::move(made);
  }

  void answer_waiting() {
    std::vector<Waiting> waiting;
    {
      const std::scoped_lock lock(waiting_mutex_);
      waiting.swap(waiting_);
    }
    for (Waiting& each : waiting) {
      if (Clock::now() < each.deadline) {
        await(each.version, each.label, each.besides, each.deadline, std::move(each.found));
      } else {
        each.found(Error{Code::kDeadlineExceeded, concat("the engine of ", name_,
                                                         " has ended, and has not come "
                                                         "back before the request's deadline")});
      }
    }
  }

  void remark(const std::string& text) const { parts_.remark(text); }
  void remark_once(const std::string& text) {
    if (!remarked_.insert(text).second) return;
    if (remarked_.size() > kRemarkedMax) remarked_ = {text};
    remark(concat(name_, ": ", text));
  }

  struct Retired {
    std::shared_ptr<ServedVersion> version;
    Clock::time_point drain_until;
    bool is_ended;
  };
  // A request that waits for a version that is coming back.
  struct Waiting {
    std::optional<std::uint64_t> version;
    std::optional<std::string> label;
    std::vector<VersionName> besides;
    Clock::time_point deadline;
    Found found;
  };
  static constexpr std::size_t kRemarkedMax = 1'000;
  static constexpr std::size_t kWaitingMax = 10'000;

  const std::string name_;
  const LiveModelParts parts_;
  const LiveModelOptions options_;

  std::unique_ptr<ModelSource> source_;  // used only by the polling thread
  std::atomic<VersionState> loading_state_ = VersionState::kFetching;

  // Used only by the worker.
  std::mt19937_64 jitter_;
  Clock::time_point poll_at_{};
  int hurried_polls_ = 0;
  LongCall<Result<WantedVersions>> polling_;
  LongCall<Result<std::shared_ptr<ServedVersion>>> loading_;
  std::shared_ptr<const WantedVersion> loading_version_;  // null: no load is running
  std::set<std::uint64_t> wanted_numbers_;
  std::map<std::string, std::uint64_t, std::less<>> wanted_labels_;
  std::map<std::string, std::uint64_t, std::less<>> labels_;  // the labels in force
  std::map<std::uint64_t, VersionRecord> records_;
  std::vector<Retired> retired_;
  std::set<std::string> remarked_;

  std::stop_source loading_stop_;

  const std::shared_ptr<WorkerBell> bell_ = std::make_shared<WorkerBell>();
  std::atomic<bool> is_stopped_ = false;
  std::mutex waiting_mutex_;
  bool is_closed_ = false;  // waiting requests are no longer answered
  std::vector<Waiting> waiting_;
  mutable std::mutex table_mutex_;
  std::shared_ptr<const VersionTable> table_ = std::make_shared<VersionTable>();
  std::jthread thread_;
};

LiveModel::LiveModel(std::string name, LiveModelParts parts, const LiveModelOptions& options)
    : worker_(std::make_unique<Worker>(std::move(name), std::move(parts), options)) {}
LiveModel::~LiveModel() = default;

void LiveModel::stop() { worker_->stop(); }
const std::string& LiveModel::name() const { return worker_->name(); }

Result<std::shared_ptr<ServedVersion>> LiveModel::find(std::optional<std::uint64_t> version,
                                                       std::optional<std::string_view> label,
                                                       const std::vector<VersionName>& besides) const {
  return worker_->look_up(*worker_->table(), version, label, besides).version;
}

Result<std::shared_ptr<ServedVersion>> LiveModel::find(const VersionName& version) const {
  if (const auto* const number = std::get_if<std::uint64_t>(&version)) return find(*number, {});
  return find({}, std::get<std::string>(version));
}

void LiveModel::await(std::optional<std::uint64_t> version, std::optional<std::string_view> label,
                      std::chrono::steady_clock::time_point deadline, Found found,
                      const std::vector<VersionName>& besides) const {
  worker_->await(version, label, besides, deadline, std::move(found));
}

bool LiveModel::is_ready() const { return find({}, {}).has_value(); }

std::vector<VersionStatus> LiveModel::statuses() const {
  const std::shared_ptr<const VersionTable> table = worker_->table();
  std::vector<VersionStatus> out;
  for (const auto& [number, status] : table->statuses) out.push_back(status);
  return out;
}

std::map<std::string, std::uint64_t, std::less<>> LiveModel::labels() const {
  return worker_->table()->labels;
}

std::vector<std::shared_ptr<ServedVersion>> LiveModel::ready_versions() const {
  const std::shared_ptr<const VersionTable> table = worker_->table();
  std::vector<std::shared_ptr<ServedVersion>> out;
  for (const auto& [number, version] : table->ready) out.push_back(version);
  return out;
}

}  // namespace headrace
