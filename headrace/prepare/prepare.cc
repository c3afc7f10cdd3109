#include "headrace/prepare/prepare.h"

#include <atomic>
#include <mutex>

#include "headrace/base/text.h"
#include "headrace/io/parallel.h"

namespace headrace {
namespace {

// What workers have done so far, told one at a time.
class SharedProgress {
 public:
  SharedProgress(const PrepareProgress& progress, std::string_view stage, std::uint64_t total,
                 std::string_view unit)
      : progress_(progress), stage_(stage), total_(total), unit_(unit) {}

  void add(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    progress_(stage_, done_ += count, total_, unit_);
  }

 private:
  const PrepareProgress& progress_;
  const std::string_view stage_;
  const std::uint64_t total_;
  const std::string_view unit_;
  std::mutex mutex_;
  std::uint64_t done_ = 0;
};

Result<std::vector<SliceReceipt>> read_input(const TaskContext& context, int workers,
                                             const PrepareProgress& progress) {
  const Input& input = context.plan.input;
  SharedProgress shared(progress, "reading", input.size_bytes, "bytes");
  std::vector<SliceReceipt> receipts(input.slices.size());
  HEADRACE_CHECK(parallel_for(workers, receipts.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(receipts[i], extract_slice(context, i, [&](std::uint64_t bytes) { shared.add(bytes); }));
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
  SharedProgress shared(progress, "writing", arrangement.counts.kept, "records");
  WrittenShards out;
  out.receipts.resize(tasks.size());
  std::atomic<std::uint64_t> done_before{0};
  HEADRACE_CHECK(parallel_for(workers, tasks.size(), [&](std::size_t i) -> Status {
    if (context.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
    HEADRACE_TRY(std::optional<ShardReceipt> receipt, find_shard(context, tasks[i]));
    if (receipt) {
      ++done_before;
    } else {
      HEADRACE_TRY(receipt, write_shard(context, arrangement, tasks[i]));
    }
    out.receipts[i] = *std::move(receipt);
    shared.add(out.receipts[i].in);
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
  const TaskContext context{plan, digest, encoders, stores, runs, output, options.max_rejects.of_one_task(),
                            stop};

  HEADRACE_CHECK(check_output(output, prepare_output(), configuration, options.overwrite));
  if (options.overwrite) {
    // Work only: what is published stays until the input was read.
    HEADRACE_CHECK(remove_work(output));
  } else {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(context));
    if (published) return *std::move(published);
  }
  HEADRACE_TRY(const std::vector<SliceReceipt> receipts, read_input(context, options.workers, progress));
  HEADRACE_TRY(const Arrangement arrangement, arrange(context, receipts, options.max_rejects));
  HEADRACE_CHECK(claim_output(output, prepare_output(), configuration, options.overwrite));
  auto made = write_and_publish(context, arrangement, options, run_id, progress);
  if (made || made.error().code == Code::kCancelled) return made;
  // Another process with the same plan may have been faster: it has published the same bytes, and removed the
  // work objects of both.
  auto other = find_published(context);
  if (!other && made.error().code == Code::kAlreadyExists) return std::move(other).error();
  return other && *other ? Result(**std::move(other)) : std::move(made);
}

}  // namespace headrace
