#pragma once

/// \file Encodes values as objects.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"
#include "headrace/net/ignite/value.h"

namespace headrace::ignite {

/// How the cluster writes complex objects: its BinaryConfiguration.compactFooter, which is true by default.
/// Keys that are complex objects are found only if they are written in the same way.
struct EncodeOptions {
  bool compact_footer = true;
};

/// Appends the object as Java's marshaller writes it, including the hash code, so that Java finds it as a
/// key. A pointer that occurs a second time becomes a reference. The types of complex objects
/// (ComplexObject::type) must be registered with the cluster before the object is sent there. After an error,
/// `out` is unchanged. Time: linear in the bytes written.
/// \error kInvalidArgument  the value contains a Cycle, nests deeper than kObjectDepthLimit, or takes 2 GiB
///                          or more; or a map has a key without a value; or a proxy or raw data refer to an
///                          object outside of themselves
Status append_object(const Value& value, const EncodeOptions& options, Bytes& out);

}  // namespace headrace::ignite
