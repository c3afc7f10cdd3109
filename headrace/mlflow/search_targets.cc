#include "headrace/mlflow/search_targets.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"

namespace headrace::mlflow {

const SearchTarget& run_target() {
  static const SearchTarget kRuns = {
      .text_attributes = {"run_id", "run_name", "user_id", "status", "artifact_uri"},
      .number_attributes = {"start_time", "end_time"},
      .list_attributes = {"run_id"},
      .entities = {Entity::kMetric, Entity::kParam, Entity::kTag, Entity::kDataset}};
  return kRuns;
}

const SearchTarget& experiment_target() {
  static const SearchTarget kExperiments = {.text_attributes = {"name", "experiment_id"},
                                            .number_attributes = {"creation_time", "last_update_time"},
                                            .list_attributes = {"experiment_id"},
                                            .entities = {Entity::kTag}};
  return kExperiments;
}

const SearchTarget& model_target() {
  static const SearchTarget kModels = {
      .text_attributes = {"name", "model_id", "model_type", "status", "source_run_id"},
      .number_attributes = {"creation_timestamp", "creation_time", "last_updated_timestamp",
                            "last_updated_time"},
      .list_attributes = {"name", "model_id", "model_type", "status", "source_run_id"},
      .entities = {Entity::kMetric, Entity::kParam, Entity::kTag}};
  return kModels;
}

const SearchTarget& registered_model_target() {
  static const SearchTarget kRegisteredModels = {
      .text_attributes = {"name"},
      .number_attributes = {"creation_timestamp", "last_updated_timestamp", "timestamp"},
      .list_attributes = {"name"},
      .entities = {Entity::kTag}};
  return kRegisteredModels;
}

const SearchTarget& model_version_target() {
  static const SearchTarget kModelVersions = {
      .text_attributes = {"name", "run_id", "source_path"},
      .number_attributes = {"version_number", "creation_timestamp", "last_updated_timestamp"},
      .list_attributes = {"name", "run_id"},
      .entities = {Entity::kTag}};
  return kModelVersions;
}

Result<ListPage> find_page(std::size_t count, std::string_view token, std::size_t most) {
  ListPage page;
  if (!token.empty()) {
    const auto decoded = parse_base64(token);
    const auto parsed = decoded ? parse_json(as_text(*decoded)) : Result<Json>(Json());
    const Json offset = parsed ? (*parsed)["offset"] : Json();
    if (!offset.is_unsigned())
      return Error{Code::kInvalidArgument, "Invalid page token: use one that an answer has given"};
    page.begin = std::min<std::size_t>(offset.as<std::uint64_t>(), count);
  }
  page.end = page.begin + std::min(most, count - page.begin);
  if (page.end < count) {
    const std::string next = Json({{"offset", page.end}}).dump();
    page.next_token = base64(as_bytes(next));
  }
  return page;
}

}  // namespace headrace::mlflow
