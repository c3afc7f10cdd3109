#pragma once

/// \file The parts of an evaluation's page that are about one target.

#include <string>
#include <vector>

#include "headrace/evaluate/evaluation.h"

namespace headrace {

struct PagePart {
  std::string title;  // "": it belongs to the part before
  std::string html;
};

/// Scores, charts, then the worst records, each a part of its own. A part is bounded in size.
std::vector<PagePart> target_parts(const TargetEvaluation& target);

}  // namespace headrace
