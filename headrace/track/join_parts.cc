#include <algorithm>
#include <tuple>

#include "headrace/base/text.h"
#include "headrace/track/run_record.h"

namespace headrace {
namespace {

RunStatus status_of(const RunPart& part) { return part.end ? part.end->status : RunStatus::kUnfinished; }

// By rank; within a rank, the latest attempt first.
bool comes_before(const RunPart& a, const RunPart& b) {
  return std::tie(a.start.rank, b.start.started, a.name) < std::tie(b.start.rank, a.start.started, b.name);
}

template <typename Item>
void add_missing(std::vector<Item>& to, const std::vector<Item>& from) {
  const auto is_the_same = [](const Item& a, const Item& b) {
    if constexpr (std::is_same_v<Item, Artifact>) {
      return a.url == b.url && a.digest == b.digest && a.version == b.version;
    } else {
      return a.url == b.url && a.name == b.name;
    }
  };
  for (const Item& item : from) {
    if (std::ranges::none_of(to, [&](const Item& other) { return is_the_same(item, other); }))
      to.push_back(item);
  }
}

RunStatus joint_status(const std::vector<const RunPart*>& latest, std::uint64_t ranks) {
  const auto any = [&](RunStatus status) {
    return std::ranges::any_of(latest, [&](const RunPart* part) { return status_of(*part) == status; });
  };
  if (any(RunStatus::kFailed)) return RunStatus::kFailed;
  if (any(RunStatus::kUnfinished) || latest.size() < ranks) return RunStatus::kUnfinished;
  return any(RunStatus::kStopped) ? RunStatus::kStopped : RunStatus::kFinished;
}

void join_ends(RunEnd& end, const RunPart& part) {
  if (!part.end) {
    add_missing(end.inputs, part.so_far.inputs);
    add_missing(end.outputs, part.so_far.outputs);
    add_missing(end.series, part.so_far.series);
    return;
  }
  add_missing(end.inputs, part.end->inputs);
  add_missing(end.outputs, part.end->outputs);
  add_missing(end.series, part.end->series);
  end.metrics.insert(part.end->metrics.begin(), part.end->metrics.end());
  end.counts.insert(part.end->counts.begin(), part.end->counts.end());
  end.versions.insert(part.end->versions.begin(), part.end->versions.end());
  end.parameters.insert(part.end->parameters.begin(), part.end->parameters.end());
  end.ended = std::max(end.ended, part.end->ended);
  end.seconds = std::max(end.seconds, part.end->seconds);
  if (end.error.empty() && !part.end->error.empty())
    end.error = concat("rank ", part.start.rank, ": ", part.end->error);
}

}  // namespace

RunRecord join_parts(std::string id, std::vector<RunPart> parts) {
  std::ranges::sort(parts, comes_before);
  // A job may be restarted with fewer ranks: the newest part gives the number of ranks.
  const std::uint64_t ranks = std::ranges::max_element(parts, {}, [](const RunPart& part) {
                                return part.start.started;
                              })->start.ranks;
  std::vector<const RunPart*> latest;
  for (const RunPart& part : parts) {
    const bool is_earlier = !latest.empty() && latest.back()->start.rank == part.start.rank;
    if (!is_earlier && (latest.empty() || part.start.rank < ranks)) latest.push_back(&part);
  }
  const RunPart& first = *latest.front();
  RunRecord run{.id = std::move(id), .start = first.start, .end = first.end, .so_far = first.so_far};
  for (const RunPart& part : parts) {
    run.start.started = std::min(run.start.started, part.start.started);
    for (const std::string& remark : part.start.remarks) {
      if (std::ranges::find(run.start.remarks, remark) == run.start.remarks.end())
        run.start.remarks.push_back(remark);
    }
  }
  if (latest.size() > 1 || ranks > 1) {
    RunEnd end;
    for (const RunPart* part : latest) {
      add_missing(run.start.inputs, part->start.inputs);
      if (run.start.resumed_from.empty()) run.start.resumed_from = part->start.resumed_from;
      join_ends(end, *part);
    }
    end.status = joint_status(latest, ranks);
    run.so_far = {};
    run.end.reset();
    if (end.status == RunStatus::kUnfinished) {
      run.so_far = {std::move(end.inputs), std::move(end.outputs), std::move(end.series)};
    } else {
      run.end = std::move(end);
    }
  }
  run.parts = std::move(parts);
  return run;
}

}  // namespace headrace
