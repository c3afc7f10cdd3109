#pragma once

/// \file The parts of an evaluation's page that describe one target.

#include <string>
#include <vector>

#include "headrace/evaluate/evaluation.h"

namespace headrace {

struct PagePart {
  std::string title;  // "": belongs to the part before
  std::string html;
};

/// Scores, charts, then the worst records, each in its own part. The size of a part is bounded.
std::vector<PagePart> target_parts(const TargetEvaluation& target);

}  // namespace headrace
