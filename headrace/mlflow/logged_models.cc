#include "headrace/mlflow/logged_models.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "headrace/base/environment.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/search_targets.h"
#include "headrace/mlflow/state_text.h"
#include "headrace/track/json_number.h"

namespace headrace::mlflow {
namespace {

constexpr std::int64_t kDefaultModels = 100;
constexpr std::int64_t kModelsPerPage = 50'000;

struct FoundModel {
  std::string id;
  State state;
};

Error no_model(const std::string& id) {
  return {Code::kNotFound, concat("There is no logged model ", printable_line(id, 100))};
}

bool is_model(const Json& state) { return state["experiment"].is_string(); }

// States use the names of MLflow's client; the API uses protobuf's names.
std::string api_status(const Json& status) {
  const std::string name = status.is_string() ? status.text() : "";
  if (name == "PENDING" || name == "READY") return concat("LOGGED_MODEL_", name);
  return name == "FAILED" ? "LOGGED_MODEL_UPLOAD_FAILED" : "LOGGED_MODEL_STATUS_UNSPECIFIED";
}

Result<std::string> parse_model_status(const std::string& given) {
  if (given == "LOGGED_MODEL_PENDING" || given == "1") return std::string("PENDING");
  if (given == "LOGGED_MODEL_READY" || given == "2") return std::string("READY");
  if (given == "LOGGED_MODEL_UPLOAD_FAILED" || given == "3") return std::string("FAILED");
  return Error{Code::kInvalidArgument,
               concat("'", printable_line(given, 60), "' is not a status of a logged model")};
}

Json model_points_to_json(const std::string& id, const Json& points) {
  Json::Array out;
  if (!points.is_object()) return out;
  for (const auto& [identity, point] : points.members()) {
    Json metric = {{"key", point["key"]},   {"value", point["value"]}, {"timestamp", point["time"]},
                   {"step", point["step"]}, {"run_id", point["run"]},  {"model_id", id}};
    const Json& dataset = point["dataset"];
    if (dataset.is_array() && dataset.values().size() == 2 && dataset.at(0).is_string()) {
      metric["dataset_name"] = dataset.at(0);
      metric["dataset_digest"] = dataset.at(1);
    }
    out.push_back(std::move(metric));
  }
  return out;
}

Json model_to_json(const FoundModel& model, const ExperimentList& experiments) {
  const Json& state = *model.state;
  const std::string experiment = state.get_or("experiment", "");
  Json info = {
      {"model_id", model.id},
      {"experiment_id", experiment},
      {"name", state["name"]},
      {"creation_timestamp_ms", state["created"]},
      {"last_updated_timestamp_ms", state["updated"]},
      {"artifact_uri", concat(experiments.artifact_location(experiment), "/models/", model.id, "/artifacts")},
      {"status", api_status(state["status"])},
      {"tags", pairs_to_json(texts_of(state["tags"]))}};
  if (state["type"].is_string()) info["model_type"] = state["type"];
  if (state["run"].is_string()) info["source_run_id"] = state["run"];
  Json data = {{"params", pairs_to_json(texts_of(state["params"]))},
               {"metrics", model_points_to_json(model.id, state["points"])}};
  return {{"info", std::move(info)}, {"data", std::move(data)}};
}

Json point_to_json(const std::string& run, const LoggedPoint& point) {
  const bool has_dataset = !point.dataset_name.empty();
  const auto text_or_null = [&](std::string_view text) { return has_dataset ? Json(text) : Json(); };
  return {{"key", point.key},
          {"run", run},
          {"step", point.step},
          {"time", point.time_ms},
          {"value", number_to_json(point.value)},
          {"dataset", Json::array({text_or_null(point.dataset_name), text_or_null(point.dataset_digest)})}};
}

// The name of a point in the state, as the Python plug-in forms it.
std::string point_identity(const std::string& run, const LoggedPoint& point) {
  const auto text_or_none = [&](std::string_view text) {
    return point.dataset_name.empty() ? std::string_view("None") : text;
  };
  return concat(point.key, "\n", run, "\n", text_or_none(point.dataset_name), "\n",
                text_or_none(point.dataset_digest));
}

bool is_later_point(const LoggedPoint& given, const Json& known) {
  const double value = read_number(known["value"]).value_or(0);
  return std::tuple(given.step, given.time_ms, given.value) >
         std::tuple(known.get<std::int64_t>("step"), known.get<std::int64_t>("time"), value);
}

// Pairs of name and digest. An empty digest matches any.
using DatasetFilter = std::vector<std::pair<std::string, std::string>>;

bool is_on_datasets(const Json& point, const DatasetFilter& datasets) {
  if (datasets.empty()) return true;
  const Json& dataset = point["dataset"];
  if (!dataset.is_array() || dataset.values().size() != 2) return false;
  return std::ranges::any_of(datasets, [&](const auto& wanted) {
    return dataset.at(0) == Json(wanted.first) &&
           (wanted.second.empty() || dataset.at(1) == Json(wanted.second));
  });
}

ColumnValue model_metric(const Json& points, const std::string& key, const DatasetFilter& datasets) {
  if (!points.is_object()) return {};
  for (const auto& [identity, point] : points.members()) {
    if (point["key"] != Json(key) || !is_on_datasets(point, datasets)) continue;
    if (const auto value = read_number(point["value"])) return *value;
  }
  return {};
}

ColumnValue model_value(const FoundModel& model, const SearchColumn& column, const DatasetFilter& datasets) {
  const Json& state = *model.state;
  const auto value_of = [](const Json& value) {
    if (value.is_string()) return ColumnValue(value.text());
    return value.is_number() ? ColumnValue(value.as<double>()) : ColumnValue();
  };
  if (column.entity == Entity::kMetric) return model_metric(state["points"], column.key, datasets);
  if (column.entity == Entity::kParam) return value_of(state["params"][column.key]);
  if (column.entity == Entity::kTag) return value_of(state["tags"][column.key]);
  static const std::map<std::string, std::string_view, std::less<>> kKeys = {
      {"name", "name"},
      {"model_type", "type"},
      {"status", "status"},
      {"source_run_id", "run"},
      {"creation_timestamp", "created"},
      {"creation_time", "created"},
      {"last_updated_timestamp", "updated"},
      {"last_updated_time", "updated"}};
  if (column.key == "model_id") return model.id;
  const auto key = kKeys.find(column.key);
  return key == kKeys.end() ? ColumnValue() : value_of(state[key->second]);
}

struct ModelOrder {
  SearchOrder order;
  DatasetFilter datasets;
};

Result<std::vector<ModelOrder>> model_orders(const RequestFields& fields) {
  HEADRACE_TRY(const auto given, fields.objects("order_by"));
  std::vector<ModelOrder> orders;
  for (const RequestFields& each : given) {
    HEADRACE_TRY(const std::string name, each.required_text("field_name"));
    HEADRACE_TRY(const std::string dataset, each.text("dataset_name"));
    HEADRACE_TRY(const std::string digest, each.text("dataset_digest"));
    HEADRACE_TRY(const bool is_ascending, each.flag("ascending", true));
    HEADRACE_TRY(SearchOrder order, parse_order(name, model_target()));
    order.is_ascending = is_ascending;
    ModelOrder& added = orders.emplace_back(ModelOrder{std::move(order), {}});
    if (!dataset.empty()) added.datasets.emplace_back(dataset, digest);
  }
  orders.push_back({{{Entity::kAttribute, "creation_timestamp"}, false}, {}});
  orders.push_back({{{Entity::kAttribute, "model_id"}, true}, {}});
  return orders;
}

Result<DatasetFilter> dataset_filter(const RequestFields& fields) {
  HEADRACE_TRY(const auto given, fields.objects("datasets"));
  DatasetFilter out;
  for (const RequestFields& each : given) {
    HEADRACE_TRY(std::string name, each.required_text("dataset_name"));
    HEADRACE_TRY(std::string digest, each.text("dataset_digest"));
    out.emplace_back(std::move(name), std::move(digest));
  }
  return out;
}

// Whether a model matches the filter. If datasets are given and the filter names no metric, the model must
// also have a metric on one of the datasets.
bool is_model_wanted(const FoundModel& model, const SearchFilter& filter, const DatasetFilter& datasets) {
  const auto values = [&](const SearchColumn& column) -> std::vector<ColumnValue> {
    return {model_value(model, column, datasets)};
  };
  if (!filter.matches(values)) return false;
  const bool asks_metrics = std::ranges::any_of(
      filter.clauses(), [](const FilterClause& clause) { return clause.column.entity == Entity::kMetric; });
  const Json& points = (*model.state)["points"];
  if (datasets.empty() || asks_metrics) return true;
  return points.is_object() && std::ranges::any_of(points.members(), [&](const auto& point) {
           return is_on_datasets(point.second, datasets);
         });
}

void sort_models(std::vector<FoundModel>& models, const std::vector<ModelOrder>& orders) {
  std::ranges::stable_sort(models, [&](const FoundModel& one, const FoundModel& other) {
    for (const auto& [order, datasets] : orders) {
      const ColumnValue a = model_value(one, order.column, datasets);
      const ColumnValue b = model_value(other, order.column, datasets);
      if (value_comes_before(a, b, order.is_ascending)) return true;
      if (value_comes_before(b, a, order.is_ascending)) return false;
    }
    return false;
  });
}

Result<Json> texts_given(const RequestFields& fields, std::string_view name) {
  HEADRACE_TRY(const auto pairs, fields.pairs(name));
  Json out = Json::object();
  for (const auto& [key, value] : pairs) {
    HEADRACE_CHECK(check_entity_name(key, "key"));
    HEADRACE_CHECK(name == "params" ? check_param_value(value) : check_tag_value(value));
    out[key] = value;
  }
  return out;
}

}  // namespace

// REQUIRES: the model exists, or is being created
std::shared_ptr<StateLog> LoggedModels::log_named(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  auto& log = states_[id];
  if (log == nullptr)
    log =
        std::make_shared<StateLog>(root_.at(concat(kStatesFolder, "/models/", id)), "headrace.mlflow.model");
  return log;
}

Result<State> LoggedModels::change(const std::string& id, const StateLog::Edit& edit,
                                   const CallOptions& call) {
  HEADRACE_TRY(const State known, load(id, call));
  if (!is_model(*known)) return no_model(id);
  const auto change = [&](Json& state) -> Status {
    if (!is_model(state) || state["is_deleted"] == Json(true)) return no_model(id);
    return edit(state);
  };
  return log_named(id)->change(change, call);
}

// A request for a model that does not exist leaves no entry in states_.
Result<State> LoggedModels::load(const std::string& id, const CallOptions& call) {
  HEADRACE_CHECK(check_run_id(id));
  std::shared_ptr<StateLog> log;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = states_.find(id); found != states_.end()) log = found->second;
  }
  if (log != nullptr) return log->load(call);
  StateLog other(root_.at(concat(kStatesFolder, "/models/", id)), "headrace.mlflow.model");
  HEADRACE_TRY(State state, other.load(call));
  if (state->is_null()) return state;
  return log_named(id)->load(call);
}

Result<Json> LoggedModels::answer(const std::string& id, State state, const CallOptions& call) {
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  return Json({{"model", model_to_json({id, std::move(state)}, experiments)}});
}

Result<Json> LoggedModels::create(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(std::string experiment, fields.text("experiment_id"));
  HEADRACE_TRY(std::string name, fields.text("name"));
  HEADRACE_TRY(const std::string type, fields.text("model_type"));
  HEADRACE_TRY(const std::string run, fields.text("source_run_id"));
  HEADRACE_TRY(const Json tags, texts_given(fields, "tags"));
  HEADRACE_TRY(const Json params, texts_given(fields, "params"));
  if (fields.has("name")) HEADRACE_CHECK(check_model_name(name));
  if (experiment.empty()) experiment = kDefaultExperiment;
  HEADRACE_CHECK(experiments_.require_active(experiment, call));
  if (name.empty()) name = concat("model-", hex32(static_cast<std::uint32_t>(random_name_bits())));
  const std::string id = concat("m-", hex64(random_name_bits()), hex64(random_name_bits()));
  const std::int64_t now = now_ms_();
  const auto begin = [&](Json& state) -> Status {
    state["experiment"] = experiment;
    state["name"] = name;
    state["run"] = run.empty() ? Json() : Json(run);
    state["type"] = type.empty() ? Json() : Json(type);
    state["status"] = "PENDING";
    state["created"] = now;
    state["updated"] = now;
    state["tags"] = tags;
    state["params"] = params;
    return {};
  };
  HEADRACE_TRY(State state, log_named(id)->change(begin, call));
  return answer(id, std::move(state), call);
}

Result<Json> LoggedModels::get(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  HEADRACE_TRY(const bool allows_deleted, fields.flag("allow_deleted", false));
  HEADRACE_TRY(State state, load(id, call));
  const bool is_deleted = (*state)["is_deleted"] == Json(true);
  if (!is_model(*state) || (is_deleted && !allows_deleted)) return no_model(id);
  return answer(id, std::move(state), call);
}

Result<Json> LoggedModels::finalize(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  HEADRACE_TRY(const std::string given, fields.required_text("status"));
  HEADRACE_TRY(const std::string status, parse_model_status(given));
  const auto set = [&](Json& state) -> Status {
    state["status"] = status;
    state["updated"] = now_ms_();
    return {};
  };
  HEADRACE_TRY(State state, change(id, set, call));
  return answer(id, std::move(state), call);
}

Result<Json> LoggedModels::remove(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  const auto mark = [&](Json& state) -> Status {
    state["is_deleted"] = true;
    state["updated"] = now_ms_();
    return {};
  };
  HEADRACE_CHECK(change(id, mark, call));
  return Json::object();
}

Result<Json> LoggedModels::set_tags(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  HEADRACE_TRY(const Json tags, texts_given(fields, "tags"));
  const auto set = [&](Json& state) -> Status {
    for (const auto& [key, value] : tags.members()) state["tags"][key] = value;
    return {};
  };
  HEADRACE_TRY(State state, change(id, set, call));
  return answer(id, std::move(state), call);
}

Result<Json> LoggedModels::delete_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  HEADRACE_TRY(const std::string key, fields.required_text("tag_key"));
  const auto remove = [&](Json& state) -> Status {
    if (!std::as_const(state)["tags"].contains(key))
      return Error{Code::kNotFound, concat("There is no tag ", printable_line(key, 100), " of model ", id)};
    state["tags"].members().erase(key);
    return {};
  };
  HEADRACE_CHECK(change(id, remove, call));
  return Json::object();
}

Result<Json> LoggedModels::log_params(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("model_id"));
  HEADRACE_TRY(const Json params, texts_given(fields, "params"));
  const auto set = [&](Json& state) -> Status {
    for (const auto& [key, value] : params.members()) state["params"][key] = value;
    return {};
  };
  HEADRACE_CHECK(change(id, set, call));
  return Json::object();
}

Result<Json> LoggedModels::search(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::vector<std::string> ids, fields.texts("experiment_ids"));
  HEADRACE_TRY(const std::string text, fields.text("filter"));
  HEADRACE_TRY(const SearchFilter filter, SearchFilter::parse(text, model_target()));
  HEADRACE_TRY(const DatasetFilter datasets, dataset_filter(fields));
  HEADRACE_TRY(const std::vector<ModelOrder> orders, model_orders(fields));
  HEADRACE_TRY(const auto most, fields.integer("max_results"));
  HEADRACE_TRY(const std::string token, fields.text("page_token"));
  const std::int64_t limit = most.value_or(kDefaultModels);
  if (limit < 1 || limit > kModelsPerPage)
    return Error{Code::kInvalidArgument, concat("max_results is an integer from 1 to ", kModelsPerPage)};
  const std::set<std::string> wanted(ids.begin(), ids.end());
  const auto log_of_name = [&](const std::string& id) { return check_run_id(id) ? log_named(id) : nullptr; };
  HEADRACE_TRY(const std::vector<std::string> names,
               load_latest_states(root_.at(concat(kStatesFolder, "/models")), log_of_name, warn_, call));
  std::vector<FoundModel> found;
  for (const std::string& id : names) {
    FoundModel model{id, log_named(id)->known()};
    const Json& state = *model.state;
    if (!is_model(state) || state["is_deleted"] == Json(true) || !wanted.contains(state["experiment"].text()))
      continue;
    if (is_model_wanted(model, filter, datasets)) found.push_back(std::move(model));
  }
  sort_models(found, orders);
  HEADRACE_TRY(const ListPage page, find_page(found.size(), token, static_cast<std::size_t>(limit)));
  HEADRACE_TRY(const ExperimentList experiments, experiments_.load(call));
  Json::Array models;
  for (std::size_t i = page.begin; i < page.end; ++i) models.push_back(model_to_json(found[i], experiments));
  Json answer = {{"models", std::move(models)}};
  if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
  return answer;
}

Status LoggedModels::keep_points(const std::string& run, std::span<const LoggedPoint> points,
                                 const CallOptions& call) {
  std::set<std::string_view> ids;
  for (const LoggedPoint& point : points) {
    if (!point.model_id.empty()) ids.insert(point.model_id);
  }
  for (const std::string_view id : ids) {
    const auto add = [&](Json& state) -> Status {
      for (const LoggedPoint& point : points) {
        if (point.model_id != id) continue;
        Json& known = state["points"][point_identity(run, point)];
        if (known.is_null() || is_later_point(point, known)) known = point_to_json(run, point);
      }
      return {};
    };
    HEADRACE_CHECK(change(std::string(id), add, call));
  }
  return {};
}

}  // namespace headrace::mlflow
