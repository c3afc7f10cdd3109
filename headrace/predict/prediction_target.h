#pragma once

/// \file The URL of a table or cache of Apache Ignite that predictions go to: docs/formats/ignite-input.md.

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

/// Whether a URL names such a place; others are folders of stores.
bool is_prediction_target(std::string_view url);

struct PredictionTarget {
  std::string hosts;
  bool is_cache = false;  // else a table
  std::string name;       // of the cache or the table
  std::string schema{};   // of a table
  std::string type{};     // of a cache's values
};

/// \error kInvalidArgument  as parse_ignite_table_url and parse_ignite_cache_target
Result<PredictionTarget> parse_prediction_target(std::string_view url);

/// Refuses a place whose cache may be the one that `data` names, an input's URL of any kind: predictions
/// would replace the rows that they are made of. Hosts do not count, since two may be of one cluster. A table
/// counts as the cache that CREATE TABLE gives it; a schema of a query counts as the cache that it is named
/// after. Does not look into statements, or for names that CACHE_NAME gave.
/// \error kInvalidArgument  it may; or `data` is no URL of its kind
Status check_is_no_source(const PredictionTarget& target, std::string_view data);

/// Connects, as `environment` says (net/ignite/access.h), and creates the place if it is not there.
/// \error as Cluster::connect, open_sql_prediction_table and open_cache_prediction_table
Result<std::unique_ptr<PredictionTable>> open_prediction_table(const PredictionTarget& target,
                                                               const Environment& environment,
                                                               const AnswerFormat& answers,
                                                               const std::string& model_digest,
                                                               const std::stop_token& stop);

}  // namespace headrace
