#pragma once

/// \file Where an encoded object ends.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace::ignite {

/// The size in bytes of the encoded object at the front of `bytes`; whatever follows is not looked at. An
/// object that states its size (a complex one, a wrapped one) is not looked into. Reads only inside `bytes`.
/// Time: linear in the size. Memory: none.
/// \error kDataLoss  the bytes end inside the object, a type's code is unknown, or objects nest deeper than
///                   kObjectDepthLimit; the message says where and which code
Result<std::size_t> object_size(BytesView bytes);

}  // namespace headrace::ignite
