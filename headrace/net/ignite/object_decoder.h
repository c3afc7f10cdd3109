#pragma once

/// \file Encoded objects → values.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// Decodes the one object that `bytes` are; the value views `bytes`, which must outlive it. Names of fields
/// come from `types`, which may ask the cluster. Wrapped objects are unwrapped; a reference to an object
/// that was decoded before is the same pointer, one to an object around it is a Cycle.
///
/// Time and memory: linear in the bytes, whatever they are; each byte is decoded once.
/// \error kDataLoss  the bytes are damaged: a length, offset or reference leads outside, a code is unknown,
///                   objects nest deeper than kObjectDepthLimit, or bytes follow; the message says where
/// \error kNotFound  the cluster does not know the schema of a complex object
/// \error *          of `types`
Result<Value> decode_object(BytesView bytes, BinaryTypes& types);

}  // namespace headrace::ignite
