#pragma once

/// \file Keys of blobs: docs/tensorboard.md, "Answers". A key says where its blob lies, and only a process
/// that has the secret can make one.

#include <string>
#include <string_view>

#include "headrace/base/hash.h"
#include "headrace/base/result.h"
#include "headrace/events/series.h"

namespace headrace {

struct BlobPlace {
  std::string object_key;
  BlobReference blob;
};

/// Characters of base64url.
std::string write_blob_key(const HashKey& secret, std::string_view object_key, const BlobReference& blob);
/// \error kNotFound  not made with this secret
Result<BlobPlace> read_blob_key(const HashKey& secret, std::string_view key);

}  // namespace headrace
