#pragma once

/// \file Encoded objects → values.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/binary_type.h"
#include "headrace/net/ignite/field_selector.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// The memory that decoded values may take together, such as those of a page; each that is decoded takes its
/// part. A null takes 1 byte of a message, and some 40 bytes as a value.
struct DecodeBudget {
  std::size_t bytes = std::size_t{1} << 30;
};

/// Decodes the one object that `bytes` are; the value views `bytes`, which must outlive it. Names of fields
/// come from `types`, which may ask the cluster. Wrapped objects are unwrapped; a reference to an object
/// that was decoded before is the same pointer, one to an object around it is a Cycle.
///
/// Time: linear in the bytes, whatever they are; each byte is decoded once. Memory: at most that of `budget`,
/// a new one if none is given.
/// \error kDataLoss  the bytes are damaged: a length, offset or reference leads outside, a code is unknown,
///                   objects nest deeper than kObjectDepthLimit, through references too, or bytes follow;
///                   the message says where
/// \error kResourceExhausted  `budget` is used up
/// \error kNotFound  the cluster does not know the schema of a complex object
/// \error *          of `types`
Result<Value> decode_object(BytesView bytes, BinaryTypes& types);
Result<Value> decode_object(BytesView bytes, BinaryTypes& types, DecodeBudget& budget);

/// Decodes those fields of the one object that `bytes` are to which the paths of `selector` lead, and appends
/// them to `out`; `level` is the selector's for the name of the object. Bytes beside them are not looked at,
/// and may be damaged. Values, time, memory and `budget` as above.
///
/// False: the object has to be decoded as a whole by decode_object, since it is damaged, has references where
/// paths lead, or has the ids of its fields in its footer; `budget` and `out` are unspecified then.
bool select_fields(BytesView bytes, FieldSelector& selector, FieldLevel& level, DecodeBudget& budget,
                   SelectedFields& out);

}  // namespace headrace::ignite
