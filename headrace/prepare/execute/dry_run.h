#pragma once

/// \file What preparing would take, told from some rows that are prepared for a trial and thrown away.

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

#include "headrace/prepare/extract/extract.h"

namespace headrace {

struct DryRun {
  // Known.
  std::uint64_t objects = 0;  // of the input
  std::uint64_t input_bytes = 0;
  std::uint64_t tasks = 0;  // that read
  // Of the trial.
  std::uint64_t tried_rows = 0;
  std::map<std::string, std::uint64_t> counts;  // "in", "written", "rejected", "dropped", "ignored"
  std::map<std::string, std::uint64_t> reasons;
  std::string first_rejection;  // empty if none was
  // Estimated from it.
  std::uint64_t rows = 0;
  std::uint64_t read_requests = 0;  // 0 where the store counts none
  std::uint64_t read_bytes = 0;
  std::uint64_t shards = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t write_requests = 0;
  double seconds = 0;
};

/// Seconds since some moment.
using SecondsClock = std::function<double()>;

/// Prepares some rows from the beginning, the middle and the end of the input in memory; writes nothing
/// elsewhere. `map`: of a plan with one. `workers`: how many threads the time is estimated for.
/// \error those of extract_slice, arrange and write_shard, but for rows that are rejected
Result<DryRun> dry_run(const PreparePlan& plan, const TextEncoders& encoders, StoreRegistry& stores,
                       int workers, const SecondsClock& clock, MapPool* map, const std::stop_token& stop);

}  // namespace headrace
