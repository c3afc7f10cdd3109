#pragma once

/// \file The parameters on which the order of a loader's batches depends, and a loader's state as text:
/// docs/formats/order.md, "State".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// The number of records in an epoch of the source.
std::uint64_t count_of(const LoaderSource& source);
/// The weights in the form of `mixture_weights`.
std::vector<std::uint64_t> integer_weights(const std::vector<LoaderSource>& sources);
/// REQUIRES: at least one source, and none without records; rank < world_size <= micro_shards.
BatchPlan batch_plan_of(const std::vector<LoaderSource>& sources, const LoaderOptions& options);

struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};

/// The state of a loader at a position: a JSON text.
std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position);

/// The version of the order to which a state belongs: the `LoaderOptions::order_version` that continues the
/// state on any dataset. Returns kOrderVersion if the state is damaged or its version is unknown;
/// `parse_loader_state` reports these errors.
int order_version_of(std::string_view state);

/// Reads the position from a state, which must belong to these sources and options. Accepts a state of
/// another version of the order if both versions order these sources in the same way.
/// \error kFailedPrecondition  the state belongs to other sources or options; the message says what differs
/// \error kUnimplemented       its version of the order is newer than kOrderVersion
/// \error kDataLoss            it is damaged, or names a batch that an epoch does not have
Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options);

}  // namespace headrace
