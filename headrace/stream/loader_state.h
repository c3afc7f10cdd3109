#pragma once

/// \file The state of a loader as text: docs/formats/order.md, "State".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/stream/loader.h"

namespace headrace {

struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};

std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position);

/// The position in a state; the state must be of these sources and options.
/// \error kFailedPrecondition  it is of others: the message says what differs.
/// \error kDataLoss            it is damaged
Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options);

}  // namespace headrace
