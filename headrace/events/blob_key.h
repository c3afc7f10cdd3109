#pragma once

/// \file Keys of blobs: docs/tensorboard.md, "Answers". A key says where its blob lies. Only a process that
/// has the secret can make a valid key.

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

/// Makes the key of `blob`, which lies in the object `object_key`. The key has only characters of base64url.
std::string write_blob_key(const HashKey& secret, std::string_view object_key, const BlobReference& blob);
/// Checks a key and returns the place that it names. Does not read the blob.
/// \error kNotFound  the key was not made with this secret
Result<BlobPlace> read_blob_key(const HashKey& secret, std::string_view key);

}  // namespace headrace
