#pragma once

/// \file s3://bucket/key: what the registry knows of it.

#include "headrace/store/driver.h"

namespace headrace {

extern const StoreDriver kS3Driver;

}  // namespace headrace
