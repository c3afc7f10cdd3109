#pragma once

/// \file A store that repeats calls after temporary failures.

#include <cstdint>
#include <memory>

#include "headrace/net/backoff.h"
#include "headrace/store/location.h"

namespace headrace {

struct RetryOptions {
  int max_attempts = 5;  // of one call, the first one included
  BackoffOptions backoff{.shortest = std::chrono::milliseconds(100),
                         .longest = std::chrono::milliseconds(10'000)};
  /// Number of retries that all calls share at first; each success earns a tenth of one.
  double budget = 50;
  std::uint64_t seed = 0;  // of the pauses
};

/// A view of `store` that repeats a call that ended with kUnavailable or kDeadlineExceeded, and a read that
/// ended with kDataLoss, after a pause with decorrelated jitter. A listing continues after the last entry
/// that it has visited. The error of the last attempt says how many there were. A stop request ends the
/// pauses, too. Each attempt has the whole deadline of the call.
///
/// Not repeated: writes and copies with a condition, and the pieces and the commit of an upload. After such
/// an error it is open whether the write took effect, and the success of the first attempt would make the
/// second one fail. A caller that needs to know looks at the object. (The S3 driver resolves lost answers
/// itself, by a mark.)
///
/// For stores whose driver does not repeat requests, and for outages that are longer than a driver's retries.
std::unique_ptr<Store> make_retrying(std::shared_ptr<Store> store, const RetryOptions& options = {});

/// The same place, through `make_retrying`.
Location make_retrying(Location location, const RetryOptions& options = {});

}  // namespace headrace
