#pragma once

/// \file The value in a record of the log of requests that the test's servers write.

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace::interleave {

/// \error kDataLoss  it is no record of one request with one number
Result<double> logged_value(BytesView record);

}  // namespace headrace::interleave
