#pragma once

/// \file Rows from the middle of a large table, without reading what comes before.

#include <cstdint>
#include <memory>

#include "headrace/prepare/source/input.h"

namespace headrace {

/// The rows that lie wholly in `size_bytes` of the file from an offset on. None if it cannot be told there
/// where a row begins: unless the file is uncompressed CSV or TSV without quotes in the header and in these
/// bytes, or uncompressed JSON Lines. Rows count from the offset. Memory: these bytes, twice at most.
/// \error kFailedPrecondition  the file has changed since it was listed
Result<std::unique_ptr<RowSource>> open_stretch(const Input& input, const InputFile& file,
                                                std::uint64_t offset_bytes, std::uint64_t size_bytes,
                                                StoreRegistry& stores, std::uint64_t cell_limit_bytes);

}  // namespace headrace
