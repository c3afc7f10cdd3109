#pragma once

/// \file Values of Ignite as objects of Python, and back.

#include <nanobind/nanobind.h>

#include <deque>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/value.h"

namespace headrace::python {

/// None, bool, int, float, str, bytes, uuid.UUID, decimal.Decimal; a date, time or timestamp as milliseconds
/// (int), an enum as its ordinal, an array of numbers as numpy's, other arrays and collections as lists, a
/// map and a complex object as dicts. Copies. REQUIRES: the GIL
/// \error kInvalidArgument  raised: an object that contains itself, a map whose keys Python cannot hash or
///                          takes for one, or a value with more than a million parts
nanobind::object python_of(const ignite::Value& value);

/// The encoded object of an argument: None, bool, int (a long), float (a double), str, bytes, uuid.UUID.
/// \error kInvalidArgument  raised: another type, or an int beyond 64 bits. REQUIRES: the GIL
Bytes encoded_argument(nanobind::handle argument);

}  // namespace headrace::python
