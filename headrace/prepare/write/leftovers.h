#pragma once

/// \file Finds objects that `prepare` has left at an output and nobody needs. They belong to a plan that was
/// given up, or to a stalled process that continued to write after another process had taken over the output.

#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Work objects, and parts that no manifest names, of every plan except the current one, ascending by key. No
/// later plan uses their names, so they can be removed at any time. But a process that has not claimed the
/// output yet, since it still reads its input, may need its work objects. Empty if another stage or an older
/// Headrace owns the output, or if anything in its chain is damaged. Cost: one or two lists that end at their
/// first object; for an output, also a complete list, a list of its chain, and reads of its manifests.
Result<std::vector<ObjectInfo>> find_leftovers(const Location& output, const CallOptions& call = {});

}  // namespace headrace
