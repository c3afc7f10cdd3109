#pragma once

/// \file Reads every state that MLflow's client has left, for `headrace verify`:
/// docs/formats/mlflow-state.md.

#include <string_view>

#include "headrace/base/bytes.h"
#include "headrace/store/location.h"
#include "headrace/track/verify_runs.h"

namespace headrace {

/// Whether an object is a state of that format ("headrace.mlflow.run"), bit by bit as it was written. Its
/// content is not looked at.
/// \error kDataLoss       it is not
/// \error kUnimplemented  a newer version than this reader knows
Status check_mlflow_state(BytesView data, std::string_view format);

/// Reads all states below a tracking root, eight at a time, looks whether their numbers have a gap, and adds
/// both to `found`. Files of runs and models are left out: nothing tells what they were.
/// \error of the store, where nothing can be said
Status verify_mlflow_states(const Location& root, VerifiedObjects& found, const CallOptions& call = {});

}  // namespace headrace
