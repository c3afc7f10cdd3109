#pragma once

/// \file Finds the end of an encoded object.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace::ignite {

/// The size in bytes of the encoded object at the front of `bytes`. Bytes after the object are ignored. The
/// content of an object that states its size (a complex or a wrapped object) is not checked. Never reads
/// outside `bytes`. Time: linear in the size. Memory: none.
/// \error kDataLoss  the bytes end inside the object, a type code is unknown, or objects nest deeper than
///                   kObjectDepthLimit; the message says where, and which code
Result<std::size_t> object_size(BytesView bytes);

}  // namespace headrace::ignite
