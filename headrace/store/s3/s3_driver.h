#pragma once

/// \file The registry's entry for s3://bucket/key.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kS3Driver;

}  // namespace headrace
