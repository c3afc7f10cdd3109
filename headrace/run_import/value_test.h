#pragma once

/// \file For tests: the value of a result that has to be good.

#include <stdexcept>
#include <utility>

#include "headrace/base/result.h"

namespace headrace {

/// \throws std::runtime_error  with the message of the error, which fails the test
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

}  // namespace headrace
