#pragma once

/// \file The keys of a dataset's parts: docs/formats/plan.md, "Names". Only shards lie in the dataset's
/// folder itself, so a listing with the split's prefix shows only shards.

#include <string>
#include <string_view>

#include "headrace/base/text.h"

namespace headrace {

/// "_headrace/index/train-1a2b3c4d-00003-of-00017.tfrecord.gz.index"
inline std::string index_key(std::string_view shard) { return concat("_headrace/index/", shard, ".index"); }

/// "_headrace/report/1a2b3c4d-<name>": the key of a part in JSON Lines. `tag`: see name_tag.
/// `role`: "report" or "inputs".
inline std::string lines_key(std::string_view role, std::string_view tag, std::string_view name) {
  return concat("_headrace/", role, "/", tag, "-", name);
}

}  // namespace headrace
