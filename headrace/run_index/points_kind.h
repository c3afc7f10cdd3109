#pragma once

/// \file Tells where the last points of a run are stored, as MLflow shows them: the column `points_kind`.

#include <cstdint>

namespace headrace {

// The numbers are part of the file's layout. The view mlflow_metrics uses the number of kEndPoints.
enum PointsKind : std::int64_t {
  kUnknownPoints = 0,  // in the store only
  kToldPoints = 1,     // in `points`: the record and the state contain them
  kEndPoints = 2,      // in `metrics`: the end of the record contains them
  kReadPoints = 3,     // in `points`: `keep_points` wrote them
};

}  // namespace headrace
