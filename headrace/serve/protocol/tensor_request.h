#pragma once

/// \file A request whose inputs are tensors in memory, from KServe v2 or any other protocol with tensors.

#include <memory>
#include <string>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/tensor.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

struct NamedTensor {
  std::string name;
  /// Its memory has at least as many elements as its shape, at any alignment.
  TensorView tensor;
};

/// Binds tensors to a signature. Each input must be given once, with its type and a shape that it accepts.
/// For raw rows, the tensors are columns of shape [rows] or [rows, …], or one tensor of byte strings named
/// kRawRowsInput, which holds whole rows. `owner` keeps the memory of the tensors alive.
/// \error kInvalidArgument  an input is missing, unknown, given twice, or of another type or shape; inputs
///                          have different numbers of rows; a byte is not a boolean; as RawRowsWriter
Result<std::unique_ptr<BoundRequest>> bind_tensors(std::vector<NamedTensor> tensors,
                                                   std::shared_ptr<const void> owner,
                                                   const ServedSignature& signature);

/// The number of elements of a shape that a client sent; nullopt if a size is negative or the product exceeds
/// 2^62.
std::optional<std::uint64_t> checked_elements(std::span<const std::int64_t> sizes);

}  // namespace headrace
