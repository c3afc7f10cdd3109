#pragma once

/// \file Values of Ignite as objects of Python, and back.

#include <nanobind/nanobind.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/net/ignite/value.h"

namespace headrace::python {

/// None, bool, int, float, str, bytes, uuid.UUID, decimal.Decimal; a date, time or timestamp as milliseconds
/// (int), an enum as its ordinal, an array of numbers as numpy's, other arrays and collections as lists, a
/// map and a complex object as dicts. Copies. REQUIRES: the GIL
/// \error kInvalidArgument  raised: an object that contains itself, a map whose keys Python cannot hash or
///                          takes for one, or a value with more than a million parts
nanobind::object python_of(const ignite::Value& value);

/// Encodes objects of Python: None, bool, int (a long), float (a double), str, bytes, uuid.UUID; a list (an
/// ArrayList), an array of numpy of one dimension, a dict (a complex object). Not thread-safe. REQUIRES: the
/// GIL
class ValueMaker {
 public:
  /// `type_name`: the type of a dict. A dict in its field `f` is of the type "`type_name`.f".
  /// \error kInvalidArgument  raised: another type, an int beyond 64 bits, a dict without a type, or a name
  ///                          that Ignite's objects do not take
  Bytes encoded(nanobind::handle object, const std::string& type_name);
  /// The types of the objects that were encoded since the last call; some several times.
  std::vector<std::shared_ptr<const ignite::BinaryType>> take_types();

 private:
  bool make_scalar(nanobind::handle object, ignite::Value& value);
  ignite::Value make_array(nanobind::handle array);
  ignite::Value make_object(nanobind::handle fields, const std::string& type_name);
  ignite::Value make(nanobind::handle object, const std::string& type_name);

  std::deque<std::string> texts_;  // which the value views
  std::vector<std::shared_ptr<const ignite::BinaryType>> types_;
  int depth_ = 0;
};

/// The encoded object of an argument, which is no dict.
/// \error as ValueMaker::encoded
Bytes encoded_argument(nanobind::handle argument);

}  // namespace headrace::python
