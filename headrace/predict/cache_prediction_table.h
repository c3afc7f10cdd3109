#pragma once

/// \file Predictions as entries of a cache: docs/formats/predictions.md, "Caches".

#include <memory>
#include <stop_token>
#include <string>

#include "headrace/net/ignite/cluster.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

/// Creates the cache if it does not exist, and registers the type of its values with the cluster.
/// \error kInvalidArgument  the name of the type is not ASCII
/// \error kUnknown          the cluster knows that type with a field of another kind; the message says what
///                          to do
/// \error as Cluster::call
Result<std::unique_ptr<PredictionTable>> open_cache_prediction_table(
    const std::shared_ptr<ignite::Cluster>& cluster, const std::string& cache, const std::string& type,
    const AnswerFormat& answers, const std::string& model_digest, const std::stop_token& stop);

}  // namespace headrace
