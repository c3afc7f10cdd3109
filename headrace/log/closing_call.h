#pragma once

/// \file Requests of a log that is being closed, for which there is little time.

#include <algorithm>
#include <chrono>

#include "headrace/store/store.h"

namespace headrace {

inline constexpr std::chrono::milliseconds kLeastClosingCall{1'000};

/// Options of a request for which so much time is left: it waits no longer than that for progress, and no
/// shorter than kLeastClosingCall, unless `call` has a shorter deadline.
inline CallOptions closing_call(CallOptions call, std::chrono::steady_clock::duration left) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(left);
  call.deadline = std::min(call.deadline, std::max(time, kLeastClosingCall));
  return call;
}

}  // namespace headrace
