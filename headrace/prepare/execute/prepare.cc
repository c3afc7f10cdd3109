#include "headrace/prepare/execute/prepare.h"

#include <atomic>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/map/map_pool.h"
#include "headrace/prepare/sort/run_store.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

// What workers have done so far, told one at a time.
class SharedProgress {
 public:
  SharedProgress(const PrepareProgress& progress, const PrepareState& begin)
      : progress_(progress), state_(begin) {}

  void add(std::uint64_t done, std::uint64_t rejected) {
    const std::lock_guard lock(mutex_);
    state_.done += done;
    state_.rejected += rejected;
    progress_(state_);
  }

 private:
  const PrepareProgress& progress_;
  std::mutex mutex_;
  PrepareState state_;
};

Result<std::vector<SliceReceipt>> read_input(const TaskContext& context, int workers,
                                             const PrepareProgress& progress) {
  const Input& input = context.plan.input;
  SharedProgress shared(progress, {.stage = "reading", .total = input.size_bytes, .unit = "bytes"});
  std::vector<SliceReceipt> receipts(input.slices.size());
  HEADRACE_CHECK(parallel_for(workers, receipts.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(receipts[i], extract_slice(context, i, [&](std::uint64_t bytes) { shared.add(bytes, 0); }));
    shared.add(0, receipts[i].counts.rejected);
    return {};
  }));
  return receipts;
}

struct WrittenShards {
  std::vector<ShardReceipt> receipts;  // of the tasks, in their order
  std::uint64_t done_before = 0;
};

Result<WrittenShards> write_shards(const TaskContext& context, const Arrangement& arrangement, int workers,
                                   const PrepareProgress& progress) {
  const std::vector<ShardTask> tasks = arrangement.tasks();
  SharedProgress shared(progress, {.stage = "writing",
                                   .total = arrangement.counts.kept,
                                   .unit = "records",
                                   .rejected = arrangement.counts.rejected});
  WrittenShards out;
  out.receipts.resize(tasks.size());
  std::atomic<std::uint64_t> done_before{0};
  HEADRACE_CHECK(parallel_for(workers, tasks.size(), [&](std::size_t i) -> Status {
    if (context.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
    HEADRACE_TRY(std::optional<ShardReceipt> receipt, find_shard(context, tasks[i]));
    if (receipt) {
      ++done_before;
      shared.add(receipt->in, receipt->rejected);
    } else {
      HEADRACE_TRY(receipt, write_shard(context, arrangement, tasks[i],
                                        [&](std::uint64_t rows, std::uint64_t rejected) {
                                          shared.add(rows, rejected);
                                        }));
    }
    out.receipts[i] = *std::move(receipt);
    return {};
  }));
  out.done_before = done_before;
  return out;
}

Result<PrepareResult> write_and_publish(TaskContext context, const Arrangement& arrangement,
                                        const PrepareOptions& options, std::string_view run_id,
                                        const PrepareProgress& progress) {
  const std::uint64_t allowed = options.max_rejects.of(arrangement.counts.in);
  context.max_rejects = allowed - arrangement.counts.rejected;
  HEADRACE_TRY(const WrittenShards written, write_shards(context, arrangement, options.workers, progress));
  HEADRACE_TRY(PrepareResult result,
               publish(context, arrangement, written.receipts, options.max_rejects, run_id));
  result.shards_done_before = written.done_before;
  return result;
}

Status check_beginning(const Location& output, const Configuration& configuration, bool overwrite) {
  Status allowed = check_output(output, prepare_output(), configuration, overwrite);
  if (allowed || allowed.error().code != Code::kFailedPrecondition) return allowed;
  const auto published = read_published(output, "dataset");
  if (!published || !*published) return allowed;
  return Error{Code::kFailedPrecondition,
               concat(allowed.error().message, ". To add what the input has more: --append")};
}

}  // namespace

Status check_places(const Location& input, const Location& output) {
  if (output.key.empty())
    return Error{Code::kInvalidArgument,
                 concat(output.describe(), " is the root of a store; name a folder in it")};
  const bool one_store = input.url.scheme == output.url.scheme && input.url.authority == output.url.authority;
  const bool is_in = input.key == output.key || output.key.starts_with(folder_prefix(input.key));
  if (!one_store || !is_in) return {};
  return Error{Code::kInvalidArgument,
               concat(output.describe(), " lies in ", input.describe(),
                      ", so that it would be part of the input the next time; name a folder beside it")};
}

Result<PrepareResult> prepare(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                              const Location& output, const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop) {
  const Configuration configuration = plan_configuration(plan);
  const std::string digest = configuration_digest(configuration);
  RunStore runs(work_folder(output, digest), options.memory_bytes);
  const TaskContext context{
      plan, digest, encoders, stores, runs, output, options.max_rejects.of_one_task(), stop, options.map};

  if (plan.base == nullptr) HEADRACE_CHECK(check_beginning(output, configuration, options.overwrite));
  if (options.overwrite) {
    // Work only: what is published stays until the input was read.
    HEADRACE_CHECK(remove_work(output));
  } else {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
    if (published) return *std::move(published);
  }
  HEADRACE_TRY(const std::vector<SliceReceipt> receipts, read_input(context, options.workers, progress));
  if (options.map != nullptr) options.map->end_idle();
  HEADRACE_TRY(const Arrangement arrangement, arrange(context, receipts, options.max_rejects));
  if (has_nothing_new(plan, arrangement)) return leave_base(context);
  HEADRACE_CHECK(begin_output(output, plan, options.overwrite));
  auto made = write_and_publish(context, arrangement, options, run_id, progress);
  if (made || made.error().code == Code::kCancelled) return made;
  // Another process with the same plan may have been faster: it has published the same bytes, and removed the
  // work objects of both.
  auto other = find_published(context);
  if (!other && made.error().code == Code::kAlreadyExists) return std::move(other).error();
  return other && *other ? Result(**std::move(other)) : std::move(made);
}

}  // namespace headrace
