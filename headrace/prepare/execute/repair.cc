#include "headrace/prepare/execute/repair.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <set>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/prepare/execute/repaired_part.h"
#include "headrace/prepare/extract/extract.h"
#include "headrace/prepare/plan/repeated_plan.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/prepare/write/part_keys.h"
#include "headrace/prepare/write/shard_writer.h"
#include "headrace/store/staging.h"
#include "headrace/stream/foreign_shard.h"

namespace headrace {
namespace {

using Repairs = std::vector<PartRepair*>;

// Whether a part's name has the tag of a plan.
bool has_tag(std::string_view key, const std::string& tag) {
  const std::string_view name = last_segment(key);
  return name.starts_with(concat(tag, "-")) || name.find(concat("-", tag, "-")) != std::string_view::npos;
}

// Returns "00003.jsonl.gz" for "report-00003.jsonl.gz".
std::string without_role(const std::string& name) { return name.substr(name.find('-') + 1); }

void give_up(const Repairs& repairs, const std::string& why) {
  for (PartRepair* repair : repairs) {
    if (!repair->is_repaired && repair->why.empty()) repair->why = why;
  }
}

// Whether an error ends the whole repair. Any other error only tells why one part cannot be made.
bool is_end(const Error& error) { return error.code == Code::kCancelled || error.code == Code::kAborted; }

/// Repairs the parts of one version: executes its plan again in a temporary folder, and copies the parts that
/// are needed from there.
class VersionRepair {
 public:
  VersionRepair(const PublishedFolder& version, const VersionOrigin& origin, const RepeatedPlan& repeated,
                const Location& staged, const PlanningContext& planning, const RepairOptions& options)
      : version_(version),
        options_(options),
        rewritten_inputs_(repeated.rewritten_inputs),
        spills_(work_folder(staged, origin.tag()), options.memory_bytes),
        context_{repeated.planned.plan,
                 origin.plan_digest,
                 repeated.planned.encoders,
                 planning.stores,
                 spills_,
                 staged,
                 ~std::uint64_t{0},
                 planning.stop,
                 repeated.planned.map.get()} {
    context_.generation = origin.generation;
  }

  Status run(const Repairs& repairs, const PrepareProgress& progress) {
    for (PartRepair* repair : repairs) left_[repair->damaged.part.key] = repair;
    std::vector<std::size_t> needed;
    std::size_t parts_of_slices = 0;
    for (std::size_t slice = 0; slice < context_.plan.input.slices.size(); ++slice) {
      const std::size_t parts = left_.count(slice_key("inputs", slice_inputs_name(slice))) +
                                left_.count(slice_key("report", slice_report_name(slice)));
      if (parts > 0) needed.push_back(slice);
      parts_of_slices += parts;
    }
    const bool needs_shards = left_.size() > parts_of_slices;
    if (needs_shards) {
      needed.resize(context_.plan.input.slices.size());
      std::iota(needed.begin(), needed.end(), 0);
    }
    HEADRACE_CHECK(read(needed, progress));
    if (context_.map != nullptr) context_.map->end_idle();
    for (const std::size_t slice : needed) {
      HEADRACE_CHECK(take_work("inputs", slice_inputs_name(slice)));
      HEADRACE_CHECK(take_work("report", slice_report_name(slice)));
    }
    return needs_shards ? write(progress) : Status{};
  }

 private:
  std::string slice_key(std::string_view role, const std::string& name) const {
    return lines_key(role, context_.tag(), without_role(name));
  }

  Status read(const std::vector<std::size_t>& slices, const PrepareProgress& progress) {
    receipts_.resize(context_.plan.input.slices.size());
    PrepareState state{.stage = "reading", .total = context_.plan.input.size_bytes, .unit = "bytes"};
    return parallel_for(options_.workers, slices.size(), [&](std::size_t i) -> Status {
      HEADRACE_TRY(receipts_[slices[i]], extract_slice(context_, slices[i], [&](std::uint64_t bytes) {
                     tell(progress, state, bytes);
                   }));
      return {};
    });
  }

  Status write(const PrepareProgress& progress) {
    HEADRACE_TRY(const Arrangement arrangement, arrange(context_, receipts_, {.share = 1.0}));
    std::vector<ShardTask> tasks = arrangement.tasks();
    std::erase_if(tasks, [&](const ShardTask& task) {
      const std::vector<std::string> keys = keys_of(task);
      return std::ranges::none_of(keys, [&](const std::string& key) { return left_.contains(key); });
    });
    PrepareState state{.stage = "writing", .total = tasks.size(), .unit = "shards"};
    return parallel_for(options_.workers, tasks.size(), [&](std::size_t i) -> Status {
      const auto written = write_shard(context_, arrangement, tasks[i]);
      if (!written && is_end(written.error())) return written.error();
      for (const std::string& key : keys_of(tasks[i])) {
        if (!written && left_.contains(key)) left_.at(key)->why = written.error().message;
        if (written) HEADRACE_CHECK(take(context_.output.at(key), key));
        HEADRACE_CHECK(remove_object(*context_.output.store, context_.output.at(key).key));
      }
      tell(progress, state, 1);
      return {};
    });
  }

  std::vector<std::string> keys_of(const ShardTask& task) const {
    const std::string shard = shard_name(task, context_.tag(), context_.plan.compression);
    return {shard, index_key(shard), shard_report_key(task, context_.tag())};
  }

  Status take_work(std::string_view role, const std::string& name) {
    return take(context_.work_folder().at(name), slice_key(role, name));
  }

  // Copies a part that was made to its place, if it is among those that still need repair.
  Status take(const Location& made, const std::string& key) {
    const auto found = left_.find(key);
    if (found == left_.end()) return {};
    PartRepair& repair = *found->second;
    const Status put = put_part(made, repair.damaged.part, version_, context_.stop);
    repair.is_repaired = static_cast<bool>(put);
    if (put) return {};
    if (is_end(put.error())) return put;
    repair.why = put.error().message;
    if (!rewritten_inputs_.empty())
      repair.why += concat("; these inputs were written again after they were read: ", rewritten_inputs_);
    return {};
  }

  void tell(const PrepareProgress& progress, PrepareState& state, std::uint64_t more) {
    const std::lock_guard lock(mutex_);
    state.done += more;
    progress(state);
  }

  const PublishedFolder& version_;
  const RepairOptions& options_;
  const std::string rewritten_inputs_;
  SpillStore spills_;
  TaskContext context_;
  std::map<std::string, PartRepair*> left_;  // parts that need repair, by key; not changed while tasks run
  std::vector<SliceReceipt> receipts_;
  std::mutex mutex_;
};

class DatasetRepair {
 public:
  DatasetRepair(const std::vector<PublishedFolder>& versions, const PlanningContext& context,
                const RepairOptions& options, const PrepareProgress& progress)
      : context_(context), options_(options), progress_(progress) {
    for (const PublishedFolder& version : versions) versions_.push_back(&version);
    std::ranges::sort(versions_, {}, [](const PublishedFolder* version) { return version->number; });
  }

  Status run(const Repairs& repairs) {
    HEADRACE_CHECK(repair_indexes(repairs));
    // A version that continues another version reads parts of it, so earlier versions are repaired first.
    for (const PublishedFolder* version : versions_) {
      const auto origin = read_origin(*version);
      if (!origin && is_end(origin.error())) return origin.error();
      if (!origin) {
        unknown_ += concat(unknown_.empty() ? "" : "; ", origin.error().message);
        continue;
      }
      Repairs own;
      for (PartRepair* repair : repairs) {
        if (!repair->is_repaired && repair->why.empty() && has_tag(repair->damaged.part.key, origin->tag()))
          own.push_back(repair);
      }
      if (own.empty()) continue;
      const Status repaired = repair_version(*version, *origin, own);
      if (!repaired && is_end(repaired.error())) return repaired;
      give_up(own, repaired ? "its plan does not make this part from the present input"
                            : repaired.error().message);
    }
    give_up(repairs, unknown_.empty() ? "no manifest names the plan that made it" : unknown_);
    return {};
  }

 private:
  // Makes the indexes again whose shards are whole.
  Status repair_indexes(const Repairs& repairs) {
    std::set<std::string_view> damaged;
    for (const PartRepair* repair : repairs) damaged.insert(repair->damaged.part.key);
    for (PartRepair* repair : repairs) {
      const auto [version, shard] = shard_of(repair->damaged.part);
      if (shard == nullptr || damaged.contains(shard->key)) continue;
      const Status repaired = repair_index(*version, *shard, repair->damaged.part);
      if (!repaired && is_end(repaired.error())) return repaired;
      repair->is_repaired = static_cast<bool>(repaired);  // otherwise its plan may make the index
    }
    return {};
  }

  std::pair<const PublishedFolder*, const ManifestPart*> shard_of(const ManifestPart& index) const {
    for (const PublishedFolder* version : versions_) {
      for (const ManifestPart& part : version->manifest.parts) {
        if (part.role == "shard" && part.index == index.key) return {version, &part};
      }
    }
    return {nullptr, nullptr};
  }

  Status repair_index(const PublishedFolder& version, const ManifestPart& shard, const ManifestPart& index) {
    const CallOptions call{.stop = context_.stop};
    HEADRACE_TRY(const ShardIndex made, index_published_shard(version.folder.at(shard.key), shard, call));
    const Bytes bytes = made.serialize();
    if (options_.is_dry_run) return check_part(index, bytes.size(), crc32c(bytes));
    HEADRACE_TRY(const Staged staged, stage());
    const Location file = staged.place.at("index");
    HEADRACE_CHECK(file.store->write(file.key, bytes, {}));
    return put_part(file, index, version, context_.stop);
  }

  Status repair_version(const PublishedFolder& version, const VersionOrigin& origin, const Repairs& repairs) {
    HEADRACE_TRY(const RepeatedPlan repeated, repeat_plan(version, origin, later_than(version), context_));
    if (options_.is_dry_run) {
      for (PartRepair* repair : repairs) repair->is_repaired = true;
      return {};
    }
    HEADRACE_TRY(const Staged staged, stage());
    return VersionRepair(version, origin, repeated, staged.place, context_, options_).run(repairs, progress_);
  }

  struct Staged {
    StagedFolder folder;  // is removed at the end of the scope
    Location place;
  };
  Result<Staged> stage() {
    HEADRACE_TRY(StagedFolder folder, StagedFolder::create(options_.temporary_folder));
    HEADRACE_TRY(Location place,
                 context_.stores.open(std::filesystem::absolute(folder.path()).string() + "/dataset"));
    return Staged{std::move(folder), std::move(place)};
  }

  Versions later_than(const PublishedFolder& version) const {
    Versions later = versions_;
    std::erase_if(later, [&](const PublishedFolder* other) { return other->number <= version.number; });
    return later;
  }

  Versions versions_;  // ascending by number
  const PlanningContext& context_;
  const RepairOptions& options_;
  const PrepareProgress& progress_;
  std::string unknown_;  // why the plans of some versions are not known
};

}  // namespace

Result<std::vector<PartRepair>> repair_dataset(const std::vector<PublishedFolder>& versions,
                                               std::vector<DamagedPart> damaged,
                                               const PlanningContext& context, const RepairOptions& options,
                                               const PrepareProgress& progress) {
  std::vector<PartRepair> out;
  for (DamagedPart& part : damaged) out.push_back({.damaged = std::move(part)});
  Repairs repairs;
  for (PartRepair& repair : out) repairs.push_back(&repair);
  HEADRACE_CHECK(DatasetRepair(versions, context, options, progress).run(repairs));
  return out;
}

}  // namespace headrace
