#pragma once

/// \file Estimates the cost of preparing a dataset from some rows that are prepared for a trial.

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "headrace/prepare/extract/extract.h"

namespace headrace {

struct DryRun {
  // Known from the plan.
  std::uint64_t objects = 0;  // of the input
  std::uint64_t input_bytes = 0;
  std::uint64_t tasks = 0;  // tasks that read
  // Counted in the trial.
  std::uint64_t tried_rows = 0;
  std::map<std::string, std::uint64_t> counts;  // "in", "written", "rejected", "dropped", "ignored"
  std::map<std::string, std::uint64_t> reasons;
  std::string first_rejection;  // empty if no row was rejected
  // Estimated from the trial.
  std::uint64_t rows = 0;
  std::uint64_t read_requests = 0;  // 0 if the store does not count requests
  std::uint64_t read_bytes = 0;
  std::uint64_t shards = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t write_requests = 0;
  double seconds = 0;
};

/// Returns the seconds since some fixed moment.
using SecondsClock = std::function<double()>;

/// Prepares some rows from the beginning, the middle and the end of the input in memory; writes nothing
/// elsewhere. `map`: the pool of a plan with a map. `workers`: the number of threads for which the time is
/// estimated.
/// \error as extract_slice, arrange and write_shard, except about rejected rows
Result<DryRun> dry_run(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                       int workers, const SecondsClock& clock, MapPool* map, const std::stop_token& stop);

}  // namespace headrace
