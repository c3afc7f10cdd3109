#pragma once

/// \file Reads rows from the middle of a large table, without reading the part before.

#include <cstdint>
#include <memory>

#include "headrace/prepare/source/input.h"

namespace headrace {

/// Opens the rows that lie wholly in `size_bytes` of the file from an offset on. Returns null if it is not
/// certain where a row begins: unless the file is uncompressed CSV or TSV without quotes in the header and in
/// these bytes, or uncompressed JSON Lines. Rows count from the offset. Memory: these bytes, at most twice.
/// \error kFailedPrecondition  the file has changed since it was listed
/// \error of the store
Result<std::unique_ptr<RowSource>> open_stretch(const Input& input, const InputFile& file,
                                                std::uint64_t offset_bytes, std::uint64_t size_bytes,
                                                StoreRegistry& stores, std::uint64_t cell_limit_bytes);

}  // namespace headrace
