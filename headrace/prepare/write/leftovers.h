#pragma once

/// \file Objects that `prepare` has left at an output and nobody needs: of a plan that was given up, or of a
/// process that was stalled and wrote on after another had taken the output.

#include <vector>

#include "headrace/store/location.h"

namespace headrace {

/// Work objects, and parts that no manifest names, of every plan but the one in force, in the order of their
/// keys. No later plan uses their names, so they can be removed at any time; but a process that has not
/// claimed the output yet, since it still reads its input, may need its work objects. Empty where another
/// stage or an older Headrace owns the output, or where anything in its chain is damaged. Cost: a list that
/// ends at its first object, or two; of an output also a list of it all, and of its chain, and reads of its
/// manifests.
Result<std::vector<ObjectInfo>> find_leftovers(const Location& output, const CallOptions& call = {});

}  // namespace headrace
