#include "headrace/store/transfer/folder_transfer.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <tuple>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/store/transfer/folder_on_disk.h"
#include "headrace/store/transfer/folder_pair.h"
#include "headrace/store/transfer/object_transfer.h"

namespace headrace {
namespace {

constexpr std::size_t kJobsAtOnce = 50'000;  // listed before any of them is done
constexpr int kLargeAtOnce = 4;
constexpr int kRanks = 3;
constexpr int kPartAttempts = 5;  // while other processes create and remove the same part
constexpr std::size_t kMostRemoved = 1'000'000;
constexpr std::size_t kRemovedAtOnce = 1'000;

struct Job {
  std::string name;
  ObjectInfo source;
  std::optional<ObjectInfo> target{};  // the object that would be replaced
  bool compares = false;               // nothing needs to be done if the target is the same
};

class FolderTransfer {
 public:
  FolderTransfer(const Location& from, const Location& to, const FolderTransferOptions& options)
      : from_(from), to_(to), options_(options) {
    object_options_.write = {.only_if_absent = options.only_if_absent,
                             .resumes = options.same != SameObjects::kNone,
                             .call = options.call};
    object_options_.verify = options.verify;
    object_options_.advance = [this](std::int64_t bytes) { advance(0, bytes); };
  }

  Result<TransferTotals> run() {
    Status listed;
    const bool lists_to =
        options_.same != SameObjects::kNone || options_.removes_others || options_.publications != nullptr;
    HEADRACE_CHECK(list_folder_pair(
        from_, to_, {.name_prefix = options_.name_prefix, .lists_to = lists_to, .call = options_.call},
        [&](ObjectPair&& pair) {
          listed = take(std::move(pair));
          return listed.has_value();
        }));
    HEADRACE_CHECK(listed);
    if (!found_any_ && options_.publications != nullptr) {
      HEADRACE_TRY(found_any_, options_.publications->has_any());
    }
    if (!found_any_)
      return Error{Code::kNotFound, concat("there is nothing to copy below ", from_.describe())};
    all_listed_ = true;
    if (options_.publications != nullptr) HEADRACE_CHECK(options_.publications->check());
    for (std::vector<Job>& jobs : jobs_) HEADRACE_CHECK(do_all(jobs));
    if (options_.publications != nullptr) {
      HEADRACE_CHECK(options_.publications->publish([this](const TransferredObject& object) {
        report(object.step, object.name, object.size_bytes, object.crc32c);
      }));
    }
    if (options_.removes_others) HEADRACE_CHECK(remove_others());
    const bool saw_all = !options_.selects && options_.name_prefix.empty();
    if (options_.journal != nullptr && saw_all && options_.same != SameObjects::kNone) {
      // Errors are ignored: a journal entry that cannot be removed only takes room.
      (void)options_.journal->forget_unseen();
    }
    return totals_;
  }

 private:
  int rank_of(std::string_view name) const {
    return options_.rank ? std::clamp(options_.rank(name), 0, kRanks - 1) : 0;
  }

  Status take(ObjectPair&& pair) {
    if (options_.selects && !options_.selects(pair.name)) return {};
    if (options_.publications != nullptr && options_.publications->take(pair)) return {};
    if (!pair.at_from) {
      if (options_.removes_others) return take_other(std::move(pair.name), *std::move(pair.at_to));
      return {};
    }
    found_any_ = true;
    const bool compares = options_.same != SameObjects::kNone && pair.at_to &&
                          pair.at_to->size_bytes == pair.at_from->size_bytes;
    if (compares && options_.same == SameObjects::kKnown && options_.journal != nullptr &&
        options_.journal->knows(pair.name, *pair.at_from, *pair.at_to)) {
      report(TransferStep::kSame, pair.name, pair.at_from->size_bytes);
      return {};
    }
    planned_.objects += 1;
    planned_.bytes += pair.at_from->size_bytes;
    std::vector<Job>& jobs = jobs_[static_cast<std::size_t>(rank_of(pair.name))];
    jobs.push_back({std::move(pair.name), *std::move(pair.at_from), std::move(pair.at_to), compares});
    return jobs_[0].size() < kJobsAtOnce ? Status() : do_all(jobs_[0]);
  }

  Status take_other(std::string name, ObjectInfo at_to) {
    HEADRACE_CHECK(check_absent(from_, name));
    if (others_.size() == kMostRemoved) {
      return Error{Code::kResourceExhausted,
                   concat("more than ", kMostRemoved, " objects below ", to_.describe(), " are not in ",
                          from_.describe(), "; is TO the right folder? If so, remove them with rm -r first")};
    }
    others_.push_back({std::move(name), std::move(at_to)});
    return {};
  }

  Status do_all(std::vector<Job>& jobs) {
    const auto large = std::stable_partition(
        jobs.begin(), jobs.end(), [](const Job& job) { return job.source.size_bytes <= kPieceBytes; });
    const auto small_count = static_cast<std::size_t>(large - jobs.begin());
    HEADRACE_CHECK(parallel_for(options_.jobs, small_count, [&](std::size_t i) { return do_one(jobs[i]); }));
    HEADRACE_CHECK(parallel_for(std::min(options_.jobs, kLargeAtOnce), jobs.size() - small_count,
                                [&](std::size_t i) { return do_one(jobs[small_count + i]); }));
    jobs.clear();
    return {};
  }

  // Compares the source with the target. If they are the same, the job is done.
  Result<bool> is_same(const Job& job) {
    const Result<bool> same =
        have_same_content(from_.at(job.name), job.source, to_.at(job.name), *job.target, object_options_);
    // The source or the target may have been changed or removed since it was listed: then the source is
    // copied as it is now.
    const bool has_changed =
        !same && (same.error().code == Code::kFailedPrecondition || same.error().code == Code::kNotFound);
    if (has_changed) return false;
    if (!same || !*same) return same;
    if (options_.journal != nullptr) options_.journal->add(job.name, job.source, *job.target);
    advance(1, 0);
    report(TransferStep::kSame, job.name, job.source.size_bytes);
    return true;
  }

  // Another process has created the object: it may stay if it has the same bytes.
  Status keep_part(const Job& job) {
    Job now = job;
    HEADRACE_TRY(now.source, from_.store->stat(from_.at(job.name).key, options_.call));
    HEADRACE_TRY(now.target, to_.store->stat(to_.at(job.name).key, options_.call));
    HEADRACE_TRY(const bool same, is_same(now));
    if (same) return {};
    return Error{
        Code::kFailedPrecondition,
        concat(to_.at(job.name).describe(), " is part of published data, or will be, and ",
               from_.at(job.name).describe(),
               " has other bytes; nothing was replaced. Choose another TO, or remove that folder first")};
  }

  // Existing parts are never replaced, not even by the same bytes: readers would see another version.
  Status copy_part(const Job& job) {
    ObjectTransferOptions options = object_options_;
    options.write.only_if_absent = true;
    bool is_there = job.target && !options_.only_if_absent;
    for (int attempt = 1;; ++attempt) {
      Status done = is_there ? keep_part(job) : copy(job, options);
      if (done || attempt == kPartAttempts) return done;
      const Code code = done.error().code;
      const bool was_removed = is_there && code == Code::kNotFound;
      const bool was_created = !is_there && code == Code::kAlreadyExists && !options_.only_if_absent;
      if (!was_removed && !was_created) return done;
      is_there = was_created;
    }
  }

  Status do_one(const Job& job) {
    if (options_.call.stop.stop_requested())
      return Error{Code::kCancelled, concat("copying ", from_.describe(), " was stopped")};
    HEADRACE_TRY(const bool is_done, job.compares ? is_same(job) : Result<bool>(false));
    if (is_done) return {};
    if (options_.publications == nullptr) return copy(job, object_options_);
    HEADRACE_TRY(const bool is_part, options_.publications->is_part(job.name, job.target.has_value()));
    return is_part ? copy_part(job) : copy(job, object_options_);
  }

  Status copy(const Job& job, const ObjectTransferOptions& options) {
    if (options_.is_dry_run) {
      report(TransferStep::kCopied, job.name, job.source.size_bytes);
      return {};
    }
    HEADRACE_TRY(const ObjectTransfer done,
                 transfer_object(from_.at(job.name), job.source, to_.at(job.name), options));
    if (options_.publications != nullptr) options_.publications->copied(job.name, done.crc32c);
    if (options_.journal != nullptr && done.source) {
      options_.journal->add_copy(job.name, *done.source, done.target);
    }
    advance(1, 0);
    report(TransferStep::kCopied, job.name, done.target.size_bytes, done.crc32c);
    return {};
  }

  Status remove_others() {
    if (options_.publications != nullptr) {
      HEADRACE_TRY(std::vector<TransferredObject> superfluous, options_.publications->superfluous());
      for (TransferredObject& object : superfluous)
        HEADRACE_CHECK(take_other(std::move(object.name), {.size_bytes = object.size_bytes}));
    }
    if (others_.empty()) return {};
    HEADRACE_CHECK(check_others());
    TransferCount count;
    for (const Job& other : others_) count.objects += 1, count.bytes += other.source.size_bytes;
    if (!options_.is_dry_run && options_.confirm_removal) HEADRACE_CHECK(options_.confirm_removal(count));
    if (!options_.is_dry_run && options_.publications != nullptr)
      HEADRACE_CHECK(options_.publications->before_removal());
    std::stable_sort(others_.begin(), others_.end(),
                     [&](const Job& a, const Job& b) { return rank_of(a.name) > rank_of(b.name); });
    for (std::size_t begin = 0, end = 0; begin < others_.size(); begin = end) {
      if (options_.call.stop.stop_requested())
        return Error{Code::kCancelled, concat("removing below ", to_.describe(), " was stopped")};
      // Removes objects of one rank at a time, because a store may remove the objects of one call in any
      // order.
      std::vector<std::string> keys;
      for (; end < others_.size() && keys.size() < kRemovedAtOnce &&
             rank_of(others_[end].name) == rank_of(others_[begin].name);
           ++end) {
        keys.push_back(to_.at(others_[end].name).key);
      }
      if (!options_.is_dry_run) HEADRACE_CHECK(to_.store->remove_many(keys, options_.call));
      for (std::size_t i = begin; i < end; ++i)
        report(TransferStep::kRemoved, others_[i].name, others_[i].source.size_bytes);
    }
    return {};
  }

  // Makes sure that published folders stay complete.
  Status check_others() {
    if (options_.publications == nullptr) return {};
    for (const Job& other : others_) {
      HEADRACE_TRY(const bool must_stay, options_.publications->must_stay(other.name));
      if (!must_stay) continue;
      return Error{Code::kFailedPrecondition,
                   concat(to_.at(other.name).describe(), " is not below ", from_.describe(),
                          ", but a manifest that stays at ", to_.describe(),
                          " names it; nothing was removed. If --include or --exclude leave out the manifest, "
                          "leave out its parts, too; otherwise headrace verify says which parts FROM lacks")};
    }
    return {};
  }

  void advance(std::uint64_t objects, std::int64_t bytes) {
    if (!options_.progress) return;
    const std::lock_guard lock(mutex_);
    done_.objects += objects;
    done_.bytes += static_cast<std::uint64_t>(bytes);
    options_.progress({done_, all_listed_ ? planned_ : TransferCount()});
  }

  void report(TransferStep step, const std::string& name, std::uint64_t bytes,
              std::optional<std::uint32_t> crc32c = {}) {
    const std::lock_guard lock(mutex_);
    TransferCount& total = step == TransferStep::kCopied ? totals_.copied
                           : step == TransferStep::kSame ? totals_.same
                                                         : totals_.removed;
    total.objects += 1;
    total.bytes += bytes;
    if (options_.report) options_.report({step, name, bytes, crc32c});
  }

  const Location& from_;
  const Location& to_;
  const FolderTransferOptions& options_;
  ObjectTransferOptions object_options_;

  bool found_any_ = false;
  bool all_listed_ = false;
  std::array<std::vector<Job>, kRanks> jobs_;
  std::vector<Job> others_;  // jobs for objects that are to be removed
  TransferCount planned_;

  std::mutex mutex_;
  TransferCount done_;
  TransferTotals totals_;
};

// Checks two folders whose names do not contain each other.
Status check_overlap_on_disk(const Location& from, const Location& to) {
  HEADRACE_TRY(const bool contains_itself, lies_in(to, from));
  HEADRACE_TRY(const bool is_inside, lies_in(from, to));
  if (!contains_itself && !is_inside) return {};
  const auto& [inner, outer] = contains_itself ? std::tie(to, from) : std::tie(from, to);
  return Error{Code::kInvalidArgument, concat(inner.describe(), " lies in ", outer.describe(),
                                              " by a link or a mount; choose a TO that does not touch FROM")};
}

// A copy must not contain itself, and must not replace or remove objects that it has not yet read.
Status check_overlap(const Location& from, const Location& to, const FolderTransferOptions& options) {
  if (!is_same_store(from, to)) return {};
  const std::string from_prefix = folder_prefix(from.key), to_prefix = folder_prefix(to.key);
  if (to_prefix.starts_with(from_prefix)) {
    return Error{Code::kInvalidArgument,
                 concat(to.describe(), " lies in ", from.describe(), ": the copy would contain itself")};
  }
  if (!from_prefix.starts_with(to_prefix)) return check_overlap_on_disk(from, to);
  if (options.removes_others) {
    return Error{Code::kInvalidArgument,
                 concat(from.describe(), " lies in ", to.describe(),
                        ", where everything else would be removed; choose another TO")};
  }
  // From a/b to a: a/b/b/c would become a/b/c.
  const Location replacing = from.at(from.key.substr(to_prefix.size()));
  HEADRACE_TRY(const bool overlap, is_folder(replacing, options.call));
  if (!overlap) return {};
  return Error{Code::kInvalidArgument, concat("copying ", from.describe(), " to ", to.describe(),
                                              " would replace objects of the source by those below ",
                                              replacing.describe(), "; copy to another folder first")};
}

}  // namespace

Result<TransferTotals> transfer_folder(const Location& from, const Location& to,
                                       const FolderTransferOptions& options) {
  HEADRACE_CHECK(check_overlap(from, to, options));
  return FolderTransfer(from, to, options).run();
}

}  // namespace headrace
