#pragma once

/// \file Values → encoded objects.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// How the cluster writes complex objects: BinaryConfiguration.compactFooter, true unless it was changed.
/// Keys that are complex objects are found only if written in the same way.
struct EncodeOptions {
  bool compact_footer = true;
};

/// Appends the object as Java's marshaller writes it, hash code included, so that a key is found by Java. A
/// pointer that occurs a second time becomes a reference. The types of complex objects (ComplexObject::type)
/// must be registered with the cluster before it gets the object. On an error `out` is as it was.
/// Time: linear in what is written.
/// \error kInvalidArgument  the value holds a Cycle, nests deeper than kObjectDepthLimit, takes 2 GiB or
///                          more; a map has a key without a value; or a proxy or raw data refer to an object
///                          outside of them
Status append_object(const Value& value, const EncodeOptions& options, Bytes& out);

}  // namespace headrace::ignite
