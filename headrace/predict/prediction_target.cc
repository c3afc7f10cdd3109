#include "headrace/predict/prediction_target.h"

#include <utility>

#include "headrace/net/ignite/access.h"
#include "headrace/predict/cache_prediction_table.h"
#include "headrace/predict/sql_prediction_table.h"
#include "headrace/prepare/ignite/cache_url.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {
namespace {

constexpr std::string_view kTableScheme = "ignite-table";
constexpr std::string_view kCacheScheme = "ignite-cache";

}  // namespace

bool is_prediction_target(std::string_view url) {
  const std::string scheme = scheme_of(url);
  return scheme == kTableScheme || scheme == kCacheScheme;
}

Result<PredictionTarget> parse_prediction_target(std::string_view url) {
  if (scheme_of(url) == kCacheScheme) {
    HEADRACE_TRY(IgniteCacheTarget cache, parse_ignite_cache_target(url));
    return PredictionTarget{.hosts = std::move(cache.hosts),
                            .is_cache = true,
                            .name = std::move(cache.cache),
                            .type = std::move(cache.type)};
  }
  HEADRACE_TRY(IgniteTableUrl table, parse_ignite_table_url(url));
  return PredictionTarget{
      .hosts = std::move(table.hosts), .name = std::move(table.table), .schema = std::move(table.schema)};
}

Result<std::unique_ptr<PredictionTable>> open_prediction_table(const PredictionTarget& target,
                                                               const Environment& environment,
                                                               const AnswerFormat& answers,
                                                               const std::string& model_digest,
                                                               const std::stop_token& stop) {
  HEADRACE_TRY(ignite::ClusterOptions options, ignite::cluster_options(target.hosts, environment));
  HEADRACE_TRY(const auto cluster, ignite::Cluster::connect(std::move(options), stop));
  if (target.is_cache)
    return open_cache_prediction_table(cluster, target.name, target.type, answers, model_digest, stop);
  return open_sql_prediction_table(cluster, target.schema, target.name, answers, model_digest, stop);
}

}  // namespace headrace
