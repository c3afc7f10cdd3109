#pragma once

/// \file Whether a model is tested on records that it was trained on.

#include <cstdint>
#include <memory>

#include "headrace/stream/dataset.h"
#include "headrace/stream/loader.h"

namespace headrace {

/// Fails if a record of `training` has the id of a record of `test`: a score would be of records that were
/// learnt. Without ids (stream/record_ids.h) nothing is compared; records without an id are left out.
/// `reading` has the size of batches, the budget, the corruption policy and the stop. Compares 64-bit hashes:
/// with n and m different ids, it fails wrongly with a probability of n·m/2⁶⁴. Cost: the ids of both are read
/// once. Memory: 8 bytes for each test record.
/// \error kInvalidArgument    an id is in both: names the first such record, and how many there are
/// \error kResourceExhausted  the hashes take more than half of the budget
/// \error those of BatchLoader
Status check_ids_apart(const std::shared_ptr<const Dataset>& training,
                       const std::shared_ptr<const Dataset>& test, const LoaderOptions& reading);

}  // namespace headrace
