#pragma once

/// \file For tests: unwraps a result that must be good.

#include <stdexcept>
#include <utility>

#include "headrace/base/result.h"

namespace headrace {

/// The value of `result`.
/// \throws std::runtime_error  with the message of the error, so that the test fails
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

}  // namespace headrace
