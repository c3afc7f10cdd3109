#pragma once

/// \file Requests that a version runs before it is ready, so that the first client does not wait for work
/// that a model does only once. docs/decisions/serving.md, "Log of requests, and warm-up".

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "headrace/serve/live_model/served_version.h"
#include "headrace/serve/request_log/logged_records.h"

namespace headrace {

/// Runs each batched signature once with zeros. Signatures of raw rows are skipped: zeros are not rows.
/// \error kUnavailable  the model has ended. Other errors are ignored: a model may not accept zeros
Status run_zeros(ServedVersion& version);

struct WarmUpLimits {
  /// For all records together; records that are left after this time are not run.
  std::chrono::milliseconds time{60'000};
  /// For one record. After a record that takes longer, no other is run: it may still occupy its lane.
  std::chrono::milliseconds record_time{10'000};
};

struct WarmUpReport {
  std::uint64_t ran = 0;
  std::uint64_t left_out = 0;
  /// Why the first record was left out.
  Status first_left_out{};
};

/// Runs the PredictRequest of each PredictionLog, one after another, whichever model it names. Skips records
/// of another kind, records that do not fit the version, and those that are left when the time is over.
/// \error kUnavailable  the model has ended
/// \error kCancelled    `stop` was requested
Result<WarmUpReport> run_records(ServedVersion& version, const LoggedRecords& records,
                                 const std::stop_token& stop, const WarmUpLimits& limits = {});

}  // namespace headrace
