#include "headrace/prepare/execute/dry_run.h"

#include <algorithm>
#include <cmath>

#include "headrace/prepare/sort/spill_store.h"
#include "headrace/prepare/write/shard_writer.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

// The most rows and references of each of three slices that are tried. Each reference needs its own request.
constexpr std::uint64_t kTriedRows = 100'000;
constexpr std::uint64_t kTriedReferences = 300;
constexpr std::uint64_t kListedObjects = 1'000;  // in one response of S3
constexpr std::uint64_t kUploadPartBytes = 8 << 20;
constexpr std::uint64_t kMemoryBytes = 256 << 20;
// The requests for a shard write its index and its receipt; those for a slice write its receipt and its
// inputs, and copy the inputs; those for the job write the plan and the manifest.
constexpr std::uint64_t kRequestsOfShard = 2;
constexpr std::uint64_t kRequestsOfSlice = 3;
constexpr std::uint64_t kRequestsOfJob = 2;

bool follows_references(const PreparePlan& plan) {
  const auto& features = plan.schema.features;
  return plan.input.slices.front().is_range_of_folder() ||
         std::any_of(features.begin(), features.end(),
                     [](const FeatureDefinition& feature) { return feature.is_uri; });
}

PreparePlan trial_of(const PreparePlan& plan) {
  PreparePlan trial = plan;
  const std::vector<Slice>& slices = plan.input.slices;
  trial.input.slices.clear();
  trial.pasts.clear();
  std::vector<std::size_t> tried = {0, slices.size() / 2, slices.size() - 1};
  tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
  for (const std::size_t slice : tried) {
    trial.input.slices.push_back(slices[slice]);
    if (!plan.pasts.empty()) trial.pasts.push_back(plan.pasts[slice]);
  }
  return trial;
}

std::uint64_t requests_of(const StoreRegistry& stores) {
  for (const StoreCounter& counter : stores.counters()) {
    if (counter.name == "requests_total") return counter.value;
  }
  return 0;
}

struct Trial {
  Arrangement arrangement;
  std::vector<ShardReceipt> shards;
  std::uint64_t consumed_bytes = 0;
  std::uint64_t requests = 0;
  double seconds = 0;
};

Result<Trial> try_rows(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                       const SecondsClock& clock, MapPool* map, const std::stop_token& stop) {
  const Location output{std::shared_ptr<Store>(make_memory_store("trial")), "data",
                        Url{"memory", "trial", "data"}};
  const std::string digest = configuration_digest(plan_configuration(plan));
  SpillStore spills(work_folder(output, name_tag(digest, 1)), kMemoryBytes);
  const TaskContext context{.plan = plan,
                            .plan_digest = digest,
                            .encoders = encoders,
                            .stores = stores,
                            .spills = spills,
                            .output = output,
                            .max_rejects = ~std::uint64_t{0},
                            .stop = stop,
                            .map = map,
                            .trial_rows = follows_references(plan) ? kTriedReferences : kTriedRows};
  Trial trial;
  const std::uint64_t requests_before = requests_of(stores);
  const double start = clock();
  std::vector<SliceReceipt> receipts;
  for (std::uint64_t slice = 0; slice < plan.input.slices.size(); ++slice) {
    HEADRACE_TRY(receipts.emplace_back(),
                 extract_slice(context, slice, [&](std::uint64_t bytes) { trial.consumed_bytes += bytes; }));
  }
  HEADRACE_TRY(trial.arrangement, arrange(context, receipts, {.share = 1}));
  for (const ShardTask& task : trial.arrangement.tasks()) {
    HEADRACE_TRY(trial.shards.emplace_back(), write_shard(context, trial.arrangement, task));
  }
  trial.seconds = clock() - start;
  trial.requests = requests_of(stores) - requests_before;
  return trial;
}

void count_trial(const Trial& trial, DryRun& out) {
  const SliceCounts& counts = trial.arrangement.counts;
  out.tried_rows = counts.in;
  out.reasons = trial.arrangement.reasons;
  out.counts = {{"in", counts.in},
                {"written", 0},
                {"rejected", counts.rejected},
                {"dropped", 0},
                {"ignored", counts.ignored}};
  out.first_rejection = trial.arrangement.first_rejection;
  for (const ShardReceipt& shard : trial.shards) {
    out.counts["written"] += shard.written;
    out.counts["rejected"] += shard.rejected;
    out.counts["dropped"] += shard.dropped;
    for (const auto& [reason, count] : shard.reasons) out.reasons[reason] += count;
    if (out.first_rejection.empty()) out.first_rejection = shard.first_rejection;
    out.written_bytes += shard.shard ? shard.shard->size_bytes : 0;
  }
}

std::uint64_t scaled(std::uint64_t value, double factor) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(value) * factor));
}

}  // namespace

Result<DryRun> dry_run(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                       int workers, const SecondsClock& clock, MapPool* map, const std::stop_token& stop) {
  DryRun out{
      .objects = plan.input.objects, .input_bytes = plan.input.size_bytes, .tasks = plan.input.slices.size()};
  if (plan.input.slices.empty()) return out;
  HEADRACE_TRY(const Trial trial, try_rows(trial_of(plan), encoders, stores, clock, map, stop));
  count_trial(trial, out);
  const double all = static_cast<double>(std::max<std::uint64_t>(out.input_bytes, 1));
  const double factor =
      std::max(1.0, all / static_cast<double>(std::max<std::uint64_t>(trial.consumed_bytes, 1)));
  const bool is_folder =
      plan.input.slices.front().is_range_of_folder();  // then each object of the folder is a row
  out.rows = scaled(out.tried_rows, factor);
  const std::uint64_t listing = is_folder ? 2 * (out.objects / kListedObjects + 1) : 0;
  out.read_requests = trial.requests == 0 ? 0 : scaled(trial.requests, factor) + listing;
  const std::uint64_t referenced = is_folder ? 0 : scaled(trial.arrangement.row_bytes, factor);
  out.read_bytes = std::max(out.input_bytes, follows_references(plan) ? referenced : 0);
  for (const ArrangedSplit& split : trial.arrangement.splits)
    out.shards += shard_count(plan, scaled(split.rows, factor), scaled(split.bytes, factor));
  out.written_bytes = scaled(out.written_bytes, factor);
  out.write_requests = kRequestsOfJob + kRequestsOfSlice * out.tasks + kRequestsOfShard * out.shards +
                       out.written_bytes / kUploadPartBytes + 2 * out.shards;
  out.seconds = trial.seconds * factor / std::max(workers, 1);
  return out;
}

}  // namespace headrace
