#pragma once

/// \file A request whose inputs are tensors in memory: of KServe v2, or of any protocol with raw tensors.

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
  /// Its memory has at least the elements of its shape, at any alignment.
  TensorView tensor;
};

/// Binds tensors to a signature: every input once, of its type, in a shape that it accepts. For raw rows they
/// are columns, [rows] or [rows, …], or one tensor of byte strings that is named kRawRowsInput, of whole
/// rows. `owner` keeps the tensors' memory alive.
/// \error kInvalidArgument  an input is missing, unknown, given twice, or of another type or shape; inputs
///                          have different numbers of rows; a byte is no boolean; as RawRowsWriter
Result<std::unique_ptr<BoundRequest>> bind_tensors(std::vector<NamedTensor> tensors,
                                                   std::shared_ptr<const void> owner,
                                                   const ServedSignature& signature);

/// The elements of a shape that a client sent; none if a size is negative or the product passes 2^62.
std::optional<std::uint64_t> checked_elements(std::span<const std::int64_t> sizes);

}  // namespace headrace
