#pragma once

/// \file Where the last points of a run are, as MLflow shows them: the column `points_kind`.

#include <cstdint>

namespace headrace {

// The numbers are those in the file; its view mlflow_metrics names kEndPoints by its number.
enum PointsKind : std::int64_t {
  kUnknownPoints = 0,  // in the store
  kToldPoints = 1,     // in `points`: record and state tell them
  kEndPoints = 2,      // in `metrics`, since the record's end has them
  kReadPoints = 3,     // in `points`, where `keep_points` has put them
};

}  // namespace headrace
