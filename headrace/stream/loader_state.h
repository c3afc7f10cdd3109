#pragma once

/// \file The parameters that the order of a loader's batches depends on, and its state as text:
/// docs/formats/order.md, "State".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Number of records in an epoch of the source.
std::uint64_t count_of(const LoaderSource& source);
/// The weights in the form of `mixture_weights`.
std::vector<std::uint64_t> integer_weights(const std::vector<LoaderSource>& sources);
/// REQUIRES: at least one source, none without records; rank < world_size <= micro_shards
BatchPlan batch_plan_of(const std::vector<LoaderSource>& sources, const LoaderOptions& options);

struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};

std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position);

/// Version of the order that a state belongs to: the `LoaderOptions::order_version` that continues it on any
/// dataset. kOrderVersion if the state is damaged or its version unknown: parse_loader_state reports that.
int order_version_of(std::string_view state);

/// The position in a state, which must belong to these sources and options. A state of another version of the
/// order is taken if both versions order these sources alike.
/// \error kFailedPrecondition  it belongs to others; the message says what differs
/// \error kUnimplemented       its version of the order is newer than kOrderVersion
/// \error kDataLoss            it is damaged, or names a batch that an epoch does not have
Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options);

}  // namespace headrace
