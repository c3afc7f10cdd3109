#include "headrace/mlflow/experiments.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/mlflow/names.h"
#include "headrace/mlflow/search_targets.h"

namespace headrace::mlflow {
namespace {

constexpr std::int64_t kExperimentsPerPage = 50'000;
constexpr std::int64_t kDefaultExperiments = 1000;
constexpr std::string_view kProxiedArtifacts = "mlflow-artifacts:/";

Error no_such_experiment(std::string_view id) {
  return {Code::kNotFound, concat("No Experiment with id=", printable_line(id, 100), " exists")};
}

Json experiment_to_json(const std::string& id, const Json& facts, const ExperimentList& list) {
  return {{"experiment_id", id},
          {"name", facts["name"]},
          {"artifact_location", list.artifact_location(id)},
          {"lifecycle_stage", list.is_deleted(id) ? "deleted" : "active"},
          {"creation_time", facts["created"]},
          {"last_update_time", facts["updated"]},
          {"tags", pairs_to_json(texts_of(facts["tags"]))}};
}

Status require_new_name(const std::string& name, const std::map<std::string, Json>& all) {
  for (const auto& [id, facts] : all) {
    if (facts["name"] != Json(name)) continue;
    const bool is_deleted = facts["is_deleted"] == Json(true);
    return Error{Code::kAlreadyExists,
                 concat("Experiment(name=", name, ") already exists: its id is ", id,
                        is_deleted ? ", and is deleted: restore it, or take another name" : "")};
  }
  return {};
}

std::uint64_t next_id(const std::map<std::string, Json>& all) {
  std::uint64_t greatest = 0;
  for (const auto& [id, facts] : all)
    greatest = std::max(greatest, parse_number<std::uint64_t>(id).value_or(0));
  return greatest + 1;
}

ColumnValue experiment_value(const std::string& id, const Json& facts, const SearchColumn& column) {
  if (column.entity == Entity::kTag) {
    const Json& tag = facts["tags"][column.key];
    return tag.is_string() ? ColumnValue(tag.text()) : ColumnValue();
  }
  if (column.key == "experiment_id") return id;
  if (column.key == "name") return facts.get_or("name", "");
  const Json& time = facts[column.key == "creation_time" ? "created" : "updated"];
  return time.is_number() ? ColumnValue(time.as<double>()) : ColumnValue();
}

Result<std::vector<SearchOrder>> experiment_orders(const RequestFields& fields) {
  HEADRACE_TRY(std::vector<std::string> texts, fields.texts("order_by"));
  if (texts.empty()) texts = {"creation_time DESC", "experiment_id ASC"};
  std::vector<SearchOrder> orders;
  bool has_id = false;
  for (const std::string& text : texts) {
    HEADRACE_TRY(SearchOrder order, parse_order(text, experiment_target()));
    if (order.column.entity != Entity::kAttribute)
      return Error{Code::kInvalidArgument, "Invalid order_by entity: experiments are ordered by attributes"};
    has_id = has_id || order.column.key == "experiment_id";
    orders.push_back(std::move(order));
  }
  if (!has_id) orders.push_back({{Entity::kAttribute, "experiment_id"}, false});
  return orders;
}

}  // namespace

Json pairs_to_json(const std::map<std::string, std::string>& texts) {
  Json::Array out;
  for (const auto& [key, value] : texts) out.push_back({{"key", key}, {"value", value}});
  return out;
}

std::map<std::string, Json> ExperimentList::all() const {
  std::map<std::string, Json> out;
  out[std::string(kDefaultExperiment)] = {{"name", "Default"}, {"created", 0}, {"updated", 0}};
  const Json& known = (*state_)["experiments"];
  if (!known.is_object()) return out;
  for (const auto& [id, facts] : known.members()) out[id] = facts;
  return out;
}

Json ExperimentList::find(std::string_view id) const {
  const Json& known = (*state_)["experiments"][id];
  if (known.is_object() || id != kDefaultExperiment) return known;
  return {{"name", "Default"}, {"created", 0}, {"updated", 0}};
}

bool ExperimentList::is_deleted(std::string_view id) const {
  return (*state_)["experiments"][id]["is_deleted"] == Json(true);
}

std::string ExperimentList::artifact_location(std::string_view id) const {
  const Json& given = (*state_)["experiments"][id]["artifact_location"];
  return given.is_string() && !given.text().empty() ? given.text() : concat(kProxiedArtifacts, id);
}

std::string ExperimentList::artifact_folder(std::string_view id) const {
  const std::string location = artifact_location(id);
  return location.starts_with(kProxiedArtifacts) ? location.substr(kProxiedArtifacts.size()) : "";
}

Experiments::Experiments(const Location& root, ClockMs now_ms)
    : place_(root.describe()),
      now_ms_(std::move(now_ms)),
      log_(root.at(concat(kStatesFolder, "/experiments")), "headrace.mlflow.experiments") {}

Result<ExperimentList> Experiments::load(const CallOptions& call) {
  HEADRACE_TRY(State state, log_.load(call));
  return ExperimentList(std::move(state));
}

Status Experiments::require_active(std::string_view id, const CallOptions& call) {
  HEADRACE_TRY(const ExperimentList list, load(call));
  if (list.find(id).is_null()) return no_such_experiment(id);
  if (!list.is_deleted(id)) return {};
  return Error{Code::kFailedPrecondition, concat("The experiment ", id, " is deleted: restore it first")};
}

Result<Json> Experiments::create(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.text("name"));
  HEADRACE_TRY(const std::string location, fields.text("artifact_location"));
  HEADRACE_TRY(const auto tags, fields.pairs("tags"));
  HEADRACE_CHECK(check_experiment_name(name));
  Json given_tags = Json::object();
  for (const auto& [key, value] : tags) {
    HEADRACE_CHECK(check_entity_name(key, "key"));
    HEADRACE_CHECK(check_experiment_tag_value(value));
    given_tags[key] = value;
  }
  std::string id;
  const auto add = [&](Json& state) -> Status {
    const auto all = ExperimentList(std::make_shared<const Json>(state)).all();
    HEADRACE_CHECK(require_new_name(name, all));
    id = concat(next_id(all));
    const std::int64_t now = now_ms_();
    Json facts = {{"name", name}, {"created", now}, {"updated", now}, {"tags", given_tags}};
    if (!location.empty()) facts["artifact_location"] = location;
    state["experiments"][id] = std::move(facts);
    return {};
  };
  HEADRACE_CHECK(log_.change(add, call));
  return Json({{"experiment_id", id}});
}

Result<Json> Experiments::get(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  HEADRACE_TRY(const ExperimentList list, load(call));
  const Json facts = list.find(id);
  if (facts.is_null()) return no_such_experiment(id);
  return Json({{"experiment", experiment_to_json(id, facts, list)}});
}

Result<Json> Experiments::get_by_name(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string name, fields.required_text("experiment_name"));
  HEADRACE_TRY(const ExperimentList list, load(call));
  for (const auto& [id, facts] : list.all()) {
    if (facts["name"] == Json(name)) return Json({{"experiment", experiment_to_json(id, facts, list)}});
  }
  return Error{Code::kNotFound,
               concat("Could not find experiment with name '", printable_line(name, 100), "'")};
}

Status Experiments::edit(const std::string& id, const EditFacts& edit, bool is_active,
                         const CallOptions& call) {
  const auto change = [&](Json& state) -> Status {
    const auto all = ExperimentList(std::make_shared<const Json>(state)).all();
    const auto found = all.find(id);
    if (found == all.end()) return no_such_experiment(id);
    Json facts = found->second;
    if ((facts["is_deleted"] == Json(true)) == is_active)
      return Error{Code::kInvalidArgument,
                   concat("The experiment ", id, " is ", is_active ? "deleted" : "active")};
    HEADRACE_CHECK(edit(facts, all));
    if (facts == found->second) return {};
    facts["updated"] = now_ms_();
    state["experiments"][id] = std::move(facts);
    return {};
  };
  const auto changed = log_.change(change, call);
  return changed ? Status{} : Status(changed.error());
}

Result<Json> Experiments::rename(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  HEADRACE_TRY(const std::string name, fields.text("new_name"));
  HEADRACE_CHECK(check_experiment_name(name));
  const auto rename = [&](Json& facts, const std::map<std::string, Json>& all) -> Status {
    HEADRACE_CHECK(require_new_name(name, all));
    facts["name"] = name;
    return {};
  };
  HEADRACE_CHECK(edit(id, rename, true, call));
  return Json::object();
}

Result<Json> Experiments::remove(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  if (id == kDefaultExperiment)
    return Error{Code::kInvalidArgument, "The default experiment cannot be deleted"};
  const auto mark = [](Json& facts, const std::map<std::string, Json>&) -> Status {
    facts["is_deleted"] = true;
    return {};
  };
  HEADRACE_CHECK(edit(id, mark, true, call));
  return Json::object();
}

Result<Json> Experiments::restore(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  const auto unmark = [](Json& facts, const std::map<std::string, Json>&) -> Status {
    facts.members().erase("is_deleted");
    return {};
  };
  HEADRACE_CHECK(edit(id, unmark, false, call));
  return Json::object();
}

Result<Json> Experiments::set_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  HEADRACE_TRY(const std::string value, fields.text("value"));
  HEADRACE_CHECK(check_entity_name(key, "key"));
  HEADRACE_CHECK(check_experiment_tag_value(value));
  const auto set = [&](Json& facts, const std::map<std::string, Json>&) -> Status {
    facts["tags"][key] = value;
    return {};
  };
  HEADRACE_CHECK(edit(id, set, true, call));
  return Json::object();
}

Result<Json> Experiments::delete_tag(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string id, fields.required_text("experiment_id"));
  HEADRACE_TRY(const std::string key, fields.required_text("key"));
  const auto remove = [&](Json& facts, const std::map<std::string, Json>&) -> Status {
    if (!facts["tags"].contains(key))
      return Error{Code::kNotFound, concat("There is no tag ", key, " of the experiment ", id)};
    facts["tags"].members().erase(key);
    return {};
  };
  HEADRACE_CHECK(edit(id, remove, true, call));
  return Json::object();
}

Result<Json> Experiments::search(const RequestFields& fields, const CallOptions& call) {
  HEADRACE_TRY(const std::string filter_text, fields.text("filter"));
  HEADRACE_TRY(const SearchFilter filter, SearchFilter::parse(filter_text, experiment_target()));
  HEADRACE_TRY(const std::vector<SearchOrder> orders, experiment_orders(fields));
  HEADRACE_TRY(const std::string view, fields.text("view_type"));
  HEADRACE_TRY(const auto most, fields.integer("max_results"));
  HEADRACE_TRY(const std::string token, fields.text("page_token"));
  const std::int64_t limit = most.value_or(kDefaultExperiments);
  if (limit < 1 || limit > kExperimentsPerPage)
    return Error{Code::kInvalidArgument,
                 concat("max_results is ", limit, "; it is an integer from 1 to ", kExperimentsPerPage)};
  HEADRACE_TRY(const ExperimentList list, load(call));
  std::vector<std::pair<std::string, Json>> found;
  for (const auto& each : list.all()) {
    const std::string& id = each.first;
    const Json& facts = each.second;
    const bool is_wanted = view == "ALL" || list.is_deleted(id) == (view == "DELETED_ONLY");
    const auto values = [&](const SearchColumn& column) -> std::vector<ColumnValue> {
      return {experiment_value(id, facts, column)};
    };
    if (is_wanted && filter.matches(values)) found.emplace_back(id, facts);
  }
  std::ranges::stable_sort(found, [&](const auto& one, const auto& other) {
    for (const SearchOrder& order : orders) {
      const ColumnValue a = experiment_value(one.first, one.second, order.column);
      const ColumnValue b = experiment_value(other.first, other.second, order.column);
      if (value_comes_before(a, b, order.is_ascending)) return true;
      if (value_comes_before(b, a, order.is_ascending)) return false;
    }
    return false;
  });
  HEADRACE_TRY(const ListPage page, find_page(found.size(), token, static_cast<std::size_t>(limit)));
  Json::Array experiments;
  for (std::size_t i = page.begin; i < page.end; ++i)
    experiments.push_back(experiment_to_json(found[i].first, found[i].second, list));
  Json answer = {{"experiments", std::move(experiments)}};
  if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
  return answer;
}

}  // namespace headrace::mlflow
