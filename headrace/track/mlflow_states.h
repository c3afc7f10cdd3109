#pragma once

/// \file Verifies the states that MLflow's client has left, for `headrace verify`.
/// docs/formats/mlflow-state.md.

#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/store/location.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// Checks that an object is a state with that format ("headrace.mlflow.run") and is unchanged since it was
/// written. Does not check its contents.
/// \error kDataLoss       it is not
/// \error kUnimplemented  its version is newer than this reader knows
Status check_mlflow_state(BytesView data, std::string_view format);

/// Reads all states below a tracking root, eight at a time, and checks that their numbers have no gaps. Adds
/// the results to `found`. Skips the files of runs and models, because no checksum of them is recorded.
/// \error of the store
Status verify_mlflow_states(const Location& root, VerifiedObjects& found, const CallOptions& call = {});

}  // namespace headrace
