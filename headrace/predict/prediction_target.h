#pragma once

/// \file The URL of the table or cache of Apache Ignite that receives predictions:
/// docs/formats/ignite-input.md.

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "headrace/base/environment.h"
#include "headrace/predict/prediction_table.h"

namespace headrace {

/// True if a URL names a table or cache of Ignite; other URLs are folders of stores.
bool is_prediction_target(std::string_view url);

struct PredictionTarget {
  std::string hosts;
  bool is_cache = false;  // else a table
  std::string name;       // of the cache or the table
  std::string schema{};   // of a table
  std::string type{};     // of a cache's values
};

/// Parses the URL of a target.
/// \error kInvalidArgument  as parse_ignite_table_url and parse_ignite_cache_target
Result<PredictionTarget> parse_prediction_target(std::string_view url);

/// Refuses a target whose cache may be the one that `data`, the URL of an input of any kind, reads:
/// predictions would replace the rows that they are made from. Hosts are ignored, since two may belong to one
/// cluster. A table counts as the cache that CREATE TABLE gives it; the schema of a query counts as the cache
/// that it is named after. Does not examine statements, or names that CACHE_NAME gave.
/// \error kInvalidArgument  both may use one cache; or `data` is an Ignite URL that cannot be parsed
Status check_is_no_source(const PredictionTarget& target, std::string_view data);

/// Connects as `environment` says (net/ignite/access.h), and creates the target if it does not exist.
/// \error as Cluster::connect, open_sql_prediction_table and open_cache_prediction_table
Result<std::unique_ptr<PredictionTable>> open_prediction_table(const PredictionTarget& target,
                                                               const Environment& environment,
                                                               const AnswerFormat& answers,
                                                               const std::string& model_digest,
                                                               const std::stop_token& stop);

}  // namespace headrace
