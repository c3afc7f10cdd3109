#pragma once

/// \file Decodes objects into values.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/field_selector.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// Limit for the memory that several decoded values take together, such as the values of a page. Each value
/// that is decoded reduces it. A null takes 1 byte in a message, but about 40 bytes as a value.
struct DecodeBudget {
  std::size_t bytes = std::size_t{1} << 30;
};

/// Decodes `bytes`, which must be exactly one object. The value views `bytes`, which must outlive it. Names
/// of fields come from `types`, which may ask the cluster. Wrapped objects are unwrapped. A reference to an
/// object that was decoded before becomes the same pointer. A reference to an object that contains it becomes
/// a Cycle.
///
/// Time: linear in the number of bytes, whatever they are; each byte is decoded once. Memory: limited by
/// `budget`, or by a new DecodeBudget if none is given.
/// \error kDataLoss           the bytes are damaged: a length, an offset or a reference leads outside, a code
///                            is unknown, objects nest deeper than kObjectDepthLimit (also through
///                            references), or bytes follow the object; the message says where
/// \error kResourceExhausted  `budget` is used up
/// \error kNotFound           the cluster does not know the schema of a complex object
/// \error                     as for BinaryTypes::find
Result<Value> decode_object(BytesView bytes, BinaryTypes& types);
Result<Value> decode_object(BytesView bytes, BinaryTypes& types, DecodeBudget& budget);

/// Decodes only the fields to which the paths of `selector` lead, and appends them to `out`. `bytes` must be
/// exactly one object, and `level` the selector's level for the object's name. Other bytes are not read, so
/// damage there is not detected. Values, time, memory and `budget` are as for decode_object.
///
/// Returns false if the whole object must be decoded by decode_object instead. Then the object is damaged,
/// has references where paths lead, or has the ids of its fields in its footer; `budget` and `out` are
/// unspecified.
bool select_fields(BytesView bytes, FieldSelector& selector, FieldLevel& level, DecodeBudget& budget,
                   SelectedFields& out);

}  // namespace headrace::ignite
