#include "headrace/predict/prediction_target.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/net/ignite/access.h"
#include "headrace/predict/cache_prediction_table.h"
#include "headrace/predict/sql_prediction_table.h"
#include "headrace/prepare/ignite/cache_url.h"
#include "headrace/prepare/ignite/query_url.h"

namespace headrace {
namespace {

constexpr std::string_view kTableScheme = "ignite-table";
constexpr std::string_view kCacheScheme = "ignite-cache";
constexpr std::string_view kQueryScheme = "ignite-sql";
// The schema of tables that are made with CREATE TABLE. Other schemas have the name of a cache, and their
// tables show the entries of that cache.
constexpr std::string_view kDefaultSchema = "PUBLIC";

// Returns the cache of a table that was made with CREATE TABLE.
std::string cache_of_table(const std::string& schema, const std::string& table) {
  return concat("SQL_", schema, "_", table);
}

std::string cache_of(const PredictionTarget& target) {
  return target.is_cache ? target.name : cache_of_table(target.schema, target.name);
}

// Returns the caches that an input may read. An input of another kind than Ignite's reads none.
Result<std::vector<std::string>> caches_of_source(std::string_view data) {
  const std::string scheme = scheme_of(data);
  if (scheme != kCacheScheme && scheme != kQueryScheme) return std::vector<std::string>();
  HEADRACE_TRY(const Url url, parse_url(data, "", {.takes_query = true}));
  if (scheme == kCacheScheme) {
    HEADRACE_TRY(IgniteCacheUrl source, parse_ignite_cache_url(url));
    return std::vector{std::move(source.cache)};
  }
  HEADRACE_TRY(const IgniteQueryUrl source, parse_ignite_query_url(url));
  std::vector<std::string> caches;
  if (source.schema != kDefaultSchema) caches.push_back(source.schema);
  if (!source.table.empty()) caches.push_back(cache_of_table(source.schema, source.table));
  return caches;
}

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

Status check_is_no_source(const PredictionTarget& target, std::string_view data) {
  HEADRACE_TRY(const std::vector<std::string> caches, caches_of_source(data));
  const std::string cache = cache_of(target);
  if (std::ranges::find(caches, cache) == caches.end()) return {};
  return Error{Code::kInvalidArgument,
               concat("--to and --data name the same cache of Ignite, \"", printable_line(cache, 200),
                      "\": predictions would replace the rows that they are made from. Name another table or "
                      "cache with --to")};
}

Result<std::unique_ptr<PredictionTable>> open_prediction_table(const PredictionTarget& target,
                                                               const Environment& environment,
                                                               const AnswerFormat& answers,
                                                               const std::string& model_digest,
                                                               const std::stop_token& stop) {
  HEADRACE_TRY(const auto cluster, ignite::connect_cluster(target.hosts, environment, stop));
  if (target.is_cache)
    return open_cache_prediction_table(cluster, target.name, target.type, answers, model_digest, stop);
  return open_sql_prediction_table(cluster, target.schema, target.name, answers, model_digest, stop);
}

}  // namespace headrace
