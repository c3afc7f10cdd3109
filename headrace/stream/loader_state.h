#pragma once

/// \file What the order of a loader's batches depends on, and its state as text: docs/formats/order.md,
/// "State".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/stream/batch_plan.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Records of an epoch of the source.
std::uint64_t count_of(const LoaderSource& source);
/// As `mixture_weights` gives them.
std::vector<std::uint64_t> integer_weights(const std::vector<LoaderSource>& sources);
/// REQUIRES: at least one source, none without records; rank < world_size <= micro_shards
BatchPlan batch_plan_of(const std::vector<LoaderSource>& sources, const LoaderOptions& options);

struct LoaderPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
};

std::string loader_state(const std::vector<LoaderSource>& sources, const LoaderOptions& options,
                         const LoaderPosition& position);

/// The version of the order that a state is of: what `LoaderOptions::order_version` must be to continue it
/// whatever the data set; of a damaged state, kOrderVersion.
int order_version_of(std::string_view state);

/// The position in a state; the state must be of these sources and options. One of another version of the order
/// is, if that order is the same for these sources.
/// \error kFailedPrecondition  it is of others: the message says what differs.
/// \error kDataLoss            it is damaged, or of a batch that an epoch does not have
Result<LoaderPosition> parse_loader_state(std::string_view state, const std::vector<LoaderSource>& sources,
                                          const LoaderOptions& options);

}  // namespace headrace
