#pragma once

/// \file Requests of a log that must close within a limited time.

#include <algorithm>
#include <chrono>

#include "headrace/store/store.h"

namespace headrace {

inline constexpr std::chrono::milliseconds kLeastClosingCall{1'000};

/// Options for a request of a log that has the time `left` to close. The request waits that long for
/// progress, but at least kLeastClosingCall, and at most the deadline of `call`.
inline CallOptions closing_call(CallOptions call, std::chrono::steady_clock::duration left) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  call.deadline = std::min(call.deadline, std::max(time, kLeastClosingCall));
  return call;
}

}  // namespace headrace
