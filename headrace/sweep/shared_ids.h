#pragma once

/// \file Checks that a model is not tested on records that it was trained on.

#include <cstdint>
#include <memory>

#include "headrace/stream/dataset.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Checks that no record of `training` has the id of a record of `test`: otherwise a score would measure
/// records that the model was trained on. If one side has no ids (stream/record_ids.h), nothing is compared;
/// records without an id are ignored. `reading` gives the batch size, the budget, the corruption policy and
/// the stop. Compares 64-bit hashes: with n and m different ids, the probability of a false error is
/// n·m/2⁶⁴. Cost: the ids of both sides are read once; memory of 8 bytes for each test record.
/// \error kInvalidArgument    ids are in both; the message has the first such record, and their number
/// \error kResourceExhausted  the hashes take more than half of the budget
/// \error those of BatchLoader
Status check_ids_apart(const std::shared_ptr<const Dataset>& training,
                       const std::shared_ptr<const Dataset>& test, const LoaderOptions& reading);

}  // namespace headrace
