#include "headrace/prepare/execute/plan_tasks.h"

#include "headrace/base/text.h"
#include "headrace/prepare/extract/extract.h"

namespace headrace {
namespace {

template <typename Receipt>
std::vector<std::uint64_t> without_receipt(const std::vector<std::optional<Receipt>>& receipts) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < receipts.size(); ++i) {
    if (!receipts[i]) out.push_back(i);
  }
  return out;
}

}  // namespace

PlanTasks::PlanTasks(const TaskContext& context, const PlanTasksOptions& options)
    : context_(context), options_(options), owned_(options.owned), slices_(context.plan.input.slices.size()) {
  context_.max_rejects = options.max_rejects.of_one_task();
  if (owned_) context_.entry = owned_->entry();
}

Result<std::vector<std::uint64_t>> PlanTasks::unread() {
  if (are_all_read_) return std::vector<std::uint64_t>();
  HEADRACE_TRY(std::vector<std::uint64_t> left,
               is_alone() ? Result(without_receipt(slices_)) : unread_slices_of(context_));
  are_all_read_ = left.empty();
  return left;
}

Status PlanTasks::read(std::uint64_t slice, const Progress& progress) {
  HEADRACE_TRY(slices_[slice],
               extract_slice(context_, slice, [&](std::uint64_t bytes) { progress(bytes, 0); }));
  progress(0, slices_[slice]->counts.rejected);
  return {};
}

Result<const Arrangement*> PlanTasks::arrange() {
  if (arrangement_) return &*arrangement_;
  HEADRACE_TRY(const std::vector<std::uint64_t> left, unread());
  if (!left.empty()) {
    return Error{Code::kFailedPrecondition,
                 concat(left.size(), " of ", read_tasks(), " slices have not been read yet; the first is ",
                        "slice ", left.front(), ": execute their tasks first")};
  }
  std::vector<SliceReceipt> receipts;
  for (std::uint64_t slice = 0; slice < read_tasks(); ++slice) {
    std::optional<SliceReceipt> receipt = std::move(slices_[slice]);
    if (!receipt) {
      HEADRACE_TRY(receipt, find_slice(context_, slice));
    }
    if (!receipt) {
      return Error{Code::kAborted,
                   concat("the receipt of slice ", slice,
                          " disappeared: the dataset was published or overwritten meanwhile")};
    }
    receipts.push_back(*std::move(receipt));
  }
  HEADRACE_TRY(arrangement_, headrace::arrange(context_, receipts, options_.max_rejects));
  shard_tasks_ = arrangement_->tasks();
  shards_.resize(shard_tasks_.size());
  const std::uint64_t allowed = options_.max_rejects.of(arrangement_->counts.in);
  context_.max_rejects = allowed - arrangement_->counts.rejected;
  return &*arrangement_;
}

// Joins another process that has claimed the output for the same plan meanwhile, because both give the same
// names to the same bytes.
Result<OwnedOutput> PlanTasks::claim_or_join() const {
  const PlanClaim& claim = options_.claim;
  auto owned = claim_output(context_.output, context_.plan, claim, options_.actor);
  const bool is_overtaken = !owned && owned.error().code == Code::kAborted;
  if (!is_overtaken || claim.action == OwnershipAction::kOverwrite) return owned;
  const auto now = examine_plan_output(context_.output, context_.plan, false);
  const bool is_same = now && now->joins && now->generation == claim.generation;
  return is_same ? claim_output(context_.output, context_.plan, *now, options_.actor) : std::move(owned);
}

Status PlanTasks::begin_writing() {
  HEADRACE_TRY(const Arrangement* const arrangement, arrange());
  if (owned_ || has_nothing_new(context_.plan, *arrangement)) return {};
  HEADRACE_TRY(owned_, claim_or_join());
  context_.entry = owned_->entry();
  return {};
}

Result<std::vector<std::uint64_t>> PlanTasks::unwritten() const {
  return is_alone() ? without_receipt(shards_) : unwritten_shards(context_, shard_tasks_);
}

Status PlanTasks::write(std::uint64_t shard, const Progress& progress) {
  HEADRACE_TRY(std::optional<ShardReceipt> receipt, find_shard(context_, shard_tasks_[shard]));
  if (receipt) {
    ++found_shards_;
    progress(receipt->in, receipt->rejected);
  } else {
    HEADRACE_TRY(receipt, write_shard(context_, *arrangement_, shard_tasks_[shard], progress));
  }
  shards_[shard] = std::move(receipt);
  return {};
}

Status PlanTasks::execute(std::uint64_t task) {
  const auto untold = [](std::uint64_t, std::uint64_t) {};
  if (task < read_tasks()) return read(task, untold);
  HEADRACE_CHECK(arrange());
  const std::uint64_t tasks = read_tasks() + shard_tasks_.size();
  if (task >= tasks)
    return Error{Code::kOutOfRange, concat("there is no task ", task, "; the last task is ", tasks - 1)};
  return write(task - read_tasks(), untold);
}

Result<std::vector<ShardReceipt>> PlanTasks::shard_receipts() const {
  std::vector<ShardReceipt> receipts;
  for (std::size_t i = 0; i < shard_tasks_.size(); ++i) {
    std::optional<ShardReceipt> receipt = shards_[i];
    if (!receipt) {
      HEADRACE_TRY(receipt, find_shard(context_, shard_tasks_[i]));
    }
    if (!receipt) {
      return Error{Code::kFailedPrecondition,
                   concat("task ", read_tasks() + i, " of ", read_tasks() + shard_tasks_.size(),
                          " is not done yet; run it with headrace execute --task")};
    }
    receipts.push_back(*std::move(receipt));
  }
  return receipts;
}

Result<PrepareResult> PlanTasks::publish_receipts() {
  HEADRACE_TRY(const Arrangement* const arrangement, arrange());
  if (has_nothing_new(context_.plan, *arrangement)) return leave_base(context_);
  HEADRACE_CHECK(begin_writing());
  HEADRACE_TRY(const std::vector<ShardReceipt> receipts, shard_receipts());
  HEADRACE_TRY(PrepareResult made, headrace::publish(context_, *arrangement, receipts, options_.max_rejects,
                                                     owned_->in(""), options_.actor.run));
  if (is_alone()) made.shards_done_before = found_shards_;
  return made;
}

Result<PrepareResult> PlanTasks::publish() {
  if (!is_alone()) {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context_));
    if (published) return *std::move(published);
  }
  auto made = publish_receipts();
  if (made || made.error().code == Code::kCancelled) return made;
  // Another process with the same plan may have been faster. It has then published the same bytes, and
  // removed the work objects of both processes.
  auto other = find_published(context_);
  if (!other && other.error().code == Code::kAborted) return std::move(other).error();
  return other && *other ? Result(**std::move(other)) : std::move(made);
}

Status PlanTasks::unless_published(Status done) const {
  if (done || done.error().code == Code::kCancelled) return done;
  const auto published = find_published(context_);
  return published && *published ? Status() : done;
}

}  // namespace headrace
