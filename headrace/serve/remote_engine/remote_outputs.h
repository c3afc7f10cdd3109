#pragma once

/// \file The outputs that an engine process has placed in its memory, as tensors. The process is not trusted:
/// everything that it claims is checked against the memory and the signature.

#include <memory>
#include <span>
#include <vector>

#include "headrace/os/shared_memory.h"
#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/remote_engine/messages.h"

namespace headrace {

/// Makes tensors of the placed outputs of a batch of `rows` rows. They are views of `memory`; the result
/// keeps `owner`, which owns it. Cost: only the places of texts are copied, neither numbers nor texts.
/// \error kDataLoss  outputs are missing, have another type or shape than the signature says, or lie outside
///                   the memory
Result<BatchOutputs> read_outputs(const ServedSignature& signature, const std::vector<PlacedOutput>& placed,
                                  BytesView memory, std::uint64_t rows, std::shared_ptr<const void> owner);

}  // namespace headrace
