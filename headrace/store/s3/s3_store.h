#pragma once

/// \file Objects in a bucket of Amazon S3, MinIO or another server that speaks S3.

#include <memory>
#include <string>

#include "headrace/store/s3/s3_options.h"
#include "headrace/store/store.h"

namespace headrace {

/// Opens a store, without sending a request. The store's keys are the bucket's keys. Versions are ETags,
/// which S3 makes from the content: an object written twice with the same bytes has the same version.
/// The store has all capabilities except keeps_ranges; see README.md for servers that ignore conditions.
std::unique_ptr<Store> open_s3_store(std::string bucket, const S3Options& options);

}  // namespace headrace
