#include "headrace/coordinate/task_claims.h"

#include <mutex>
#include <stop_token>

#include "headrace/base/text.h"
#include "headrace/net/backoff.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

class RankClaims final : public TaskClaims {
 public:
  RankClaims(std::uint64_t rank, std::uint64_t world_size) : rank_(rank), world_size_(world_size) {}
  Result<bool> claim(std::uint64_t task) override { return task % world_size_ == rank_; }
  void release(std::uint64_t) override {}

 private:
  const std::uint64_t rank_;
  const std::uint64_t world_size_;
};

// Renews a lease until this object is destroyed, or another process has taken the lease over.
class LeaseRenewal {
 public:
  LeaseRenewal(Location object, std::string holder, Version version, std::chrono::milliseconds each)
      : object_(std::move(object)),
        holder_(std::move(holder)),
        version_(std::move(version)),
        thread_([this, each](const std::stop_token& stop) { renew(stop, each); }) {}

  /// Stops renewing the lease, and releases it.
  ~LeaseRenewal() {
    thread_.request_stop();
    thread_.join();
    if (!is_held_) return;
    // If the lease cannot be removed, it becomes stale.
    const auto there = object_.store->stat(object_.key, {});
    if (there && there->version == version_) (void)remove_object(*object_.store, object_.key);
  }
  LeaseRenewal(const LeaseRenewal&) = delete;
  LeaseRenewal& operator=(const LeaseRenewal&) = delete;

 private:
  void renew(const std::stop_token& stop, std::chrono::milliseconds each) {
    for (std::uint64_t count = 1; sleep_unless_stopped(each, stop); ++count) {
      WriteOptions options{.call = {.stop = stop}};
      if (object_.store->capabilities().atomic_if_version) options.if_version = version_;
      const auto written =
          write_text(*object_.store, object_.key, concat(holder_, " ", count, "\n"), options);
      if (written) {
        version_ = written->version;
      } else if (written.error().code == Code::kFailedPrecondition ||
                 written.error().code == Code::kNotFound) {
        is_held_ = false;
        return;
      }
    }
  }

  const Location object_;
  const std::string holder_;
  Version version_;
  bool is_held_ = true;
  std::jthread thread_;
};

class LeaseClaims final : public TaskClaims {
 public:
  LeaseClaims(Location work_folder, std::string holder, const LeaseOptions& options)
      : work_folder_(std::move(work_folder)), holder_(std::move(holder)), options_(options) {}

  Result<bool> claim(std::uint64_t task) override {
    const Location object = work_folder_.at(concat("lease-", zero_padded(task, 5)));
    auto written = write_text(*object.store, object.key, concat(holder_, " 0\n"), {.only_if_absent = true});
    if (!written && written.error().code == Code::kAlreadyExists) {
      HEADRACE_TRY(const std::optional<Version> stale, find_stale(task, object));
      if (!stale) return false;
      written = take_over(object, *stale);
      const bool was_another = !written && (written.error().code == Code::kFailedPrecondition ||
                                            written.error().code == Code::kAlreadyExists ||
                                            written.error().code == Code::kNotFound);
      if (was_another) return false;
    }
    if (!written) return std::move(written).error();
    const std::lock_guard lock(mutex_);
    renewals_[task] =
        std::make_unique<LeaseRenewal>(object, holder_, written->version, options_.renewed_each);
    return true;
  }

  void release(std::uint64_t task) override {
    std::unique_ptr<LeaseRenewal> ended;
    const std::lock_guard lock(mutex_);
    const auto found = renewals_.find(task);
    if (found == renewals_.end()) return;
    ended = std::move(found->second);
    renewals_.erase(found);
  }

 private:
  struct Seen {
    Version version;
    Clock::time_point since;
  };

  // The version of another process's lease if the lease is stale; nullopt if it has changed, or is gone.
  Result<std::optional<Version>> find_stale(std::uint64_t task, const Location& object) {
    const auto there = object.store->stat(object.key, {});
    if (!there && there.error().code == Code::kNotFound) return std::optional<Version>();
    if (!there) return there.error();
    const std::lock_guard lock(mutex_);
    Seen& seen = seen_[task];
    const Clock::time_point now = options_.now();
    if (seen.version != there->version) seen = {there->version, now};
    if (now - seen.since < options_.stale_after) return std::optional<Version>();
    return std::optional(there->version);
  }

  Result<ObjectInfo> take_over(const Location& object, const Version& stale) {
    const std::string text = concat(holder_, " 0\n");
    if (object.store->capabilities().atomic_if_version)
      return write_text(*object.store, object.key, text, {.if_version = stale});
    HEADRACE_CHECK(remove_object(*object.store, object.key));
    return write_text(*object.store, object.key, text, {.only_if_absent = true});
  }

  const Location work_folder_;
  const std::string holder_;
  const LeaseOptions options_;
  std::mutex mutex_;
  std::map<std::uint64_t, Seen> seen_;
  std::map<std::uint64_t, std::unique_ptr<LeaseRenewal>> renewals_;
};

}  // namespace

std::unique_ptr<TaskClaims> claim_by_rank(std::uint64_t rank, std::uint64_t world_size) {
  return std::make_unique<RankClaims>(rank, world_size);
}

std::unique_ptr<TaskClaims> claim_by_lease(Location work_folder, std::string holder,
                                           const LeaseOptions& options) {
  return std::make_unique<LeaseClaims>(std::move(work_folder), std::move(holder), options);
}

}  // namespace headrace
