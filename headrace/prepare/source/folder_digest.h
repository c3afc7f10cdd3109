#pragma once

/// \file A digest that identifies listed objects before they are read.

#include <string>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/store/store.h"

namespace headrace {

/// SHA-256 over key, size and version of objects, in the order of a listing.
class FolderDigest {
 public:
  void add(const ObjectInfo& object) {
    digest_.update(as_bytes(concat(object.key, '\0', object.size_bytes, '\0', object.version.token, '\0')));
  }
  /// 64 hexadecimal digits; call once.
  std::string finish() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
};

}  // namespace headrace
