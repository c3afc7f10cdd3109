#pragma once

/// \file From `Result` and `Status` to Python's exceptions: the one place where errors are translated.

#include <exception>
#include <utility>

#include "headrace/base/result.h"

namespace headrace::python {

/// Raises the exception of headrace.errors that belongs to the error's code. REQUIRES: the GIL
[[noreturn]] void raise(const Error& error);

/// The error for an exception of the standard library: kResourceExhausted if memory or threads ran out, else
/// kInternal, since no other exception is expected.
Error error_of(const std::exception& exception);

/// The value, or its error raised.
template <typename T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

inline void check(const Status& status) {
  if (!status) raise(status.error());
}

}  // namespace headrace::python
