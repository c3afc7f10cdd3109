#pragma once

/// \file A store whose calls are made again when they fail for a reason that may pass.

#include <cstdint>
#include <memory>

#include "headrace/net/backoff.h"
#include "headrace/store/location.h"

namespace headrace {

struct RetryOptions {
  int max_attempts = 5;  // of one call, the first one included
  BackoffOptions backoff{.shortest = std::chrono::milliseconds(100),
                         .longest = std::chrono::milliseconds(10'000)};
  /// Further attempts that all calls together have at first; each success earns a tenth of one.
  double budget = 50;
  std::uint64_t seed = 0;  // of the pauses
};

/// A view of `store` that repeats a call that ended with kUnavailable or kDeadlineExceeded, and a read that
/// ended with kDataLoss, after a pause with decorrelated jitter. A listing goes on behind what it has
/// visited. An error after the last attempt says how many there were. A stop ends the pauses, too. Each
/// attempt has the call's deadline to itself.
///
/// Not repeated: writes and copies with a condition, and the pieces and the commit of an upload. Such an
/// error leaves open whether the write had its effect, and a second attempt would be refused by the success
/// of the first; whoever needs to know looks at the object. (The S3 driver settles lost answers itself, by a
/// mark.)
///
/// For stores whose driver does not repeat requests, and for outages that outlast a driver's repeats.
std::unique_ptr<Store> make_retrying(std::shared_ptr<Store> store, const RetryOptions& options = {});

/// The same place, through `make_retrying`.
Location make_retrying(Location location, const RetryOptions& options = {});

}  // namespace headrace
