#pragma once

/// \file The outputs that an engine process has placed in its memory, as tensors. Nobody trusts the process:
/// all that it claims is checked against the memory and the signature.

#include <memory>
#include <span>
#include <vector>

#include "headrace/os/shared_memory.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/remote_engine/messages.h"

namespace headrace {

/// `owner` is kept by the result. `rows`: of the batch. Cost: a copy of the places of texts; numbers stay
/// where they are, and texts, too.
/// \error kDataLoss  outputs are missing, of another type or shape than the signature says, or lie outside
///                   the memory
Result<BatchOutputs> read_outputs(const ServedSignature& signature, const std::vector<PlacedOutput>& placed,
                                  BytesView memory, std::uint64_t rows, std::shared_ptr<const void> owner);

}  // namespace headrace
