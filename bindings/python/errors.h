#pragma once

/// \file From `Result` and `Status` to Python's exceptions: the one place where errors are translated.

#include <exception>
#include <utility>

#include "headrace/base/result.h"

namespace headrace::python {

/// Raises the exception of headrace.errors that belongs to the error's code. REQUIRES: the GIL
[[noreturn]] void raise(const Error& error);

/// What an exception of the standard library says: kResourceExhausted where memory or threads ran out,
/// kInternal otherwise, since nothing else is expected to be thrown.
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
