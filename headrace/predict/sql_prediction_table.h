#pragma once

/// \file Predictions as rows of a table of SQL: docs/formats/predictions.md, "Tables".

#include <memory>
#include <stop_token>
#include <string>

#include "headrace/net/ignite/cluster.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

/// Creates the table if it does not exist. If it exists with other columns, the first batch fails.
/// \error as SqlResult::run
Result<std::unique_ptr<PredictionTable>> open_sql_prediction_table(
    const std::shared_ptr<ignite::Cluster>& cluster, const std::string& schema, const std::string& table,
    const AnswerFormat& answers, const std::string& model_digest, const std::stop_token& stop);

}  // namespace headrace
