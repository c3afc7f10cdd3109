#pragma once

/// \file Where the last points of a run are, as MLflow shows them: the column `points_kind`.

#include <cstdint>

namespace headrace {

enum PointsKind : std::int64_t {
  kUnknownPoints,  // in the store
  kToldPoints,     // in `points`: record and state tell them
  kEndPoints,      // in `metrics`, since the record's end has them
  kReadPoints,     // in `points`, where `keep_points` has put them
};

}  // namespace headrace
