// Searches of MLflow's model registry.

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/mlflow/registered_models.h"
#include "headrace/mlflow/search_targets.h"

namespace headrace::mlflow {
namespace {

constexpr std::int64_t kDefaultRegisteredModels = 100;
constexpr std::int64_t kRegisteredModelsPerPage = 1000;
constexpr std::int64_t kDefaultVersions = 10'000;
constexpr std::int64_t kVersionsAskedFor = 200'000;
constexpr std::int64_t kVersionsPerPage = 50'000;

struct RegistrySearch {
  SearchFilter filter{};
  std::vector<SearchOrder> orders{};
  std::int64_t limit = 0;
  std::string token{};
};

struct SearchDefaults {
  std::vector<std::string> orders;      // used if the request gives none
  std::vector<std::string> tie_breaks;  // appended to the orders of the request
  std::int64_t limit;
  std::int64_t most;
};

Result<RegistrySearch> parse_registry_search(const RequestFields& fields, const SearchTarget& target,
                                             const SearchDefaults& defaults) {
  RegistrySearch search;
  HEADRACE_TRY(const std::string filter, fields.text("filter"));
  HEADRACE_TRY(search.filter, SearchFilter::parse(filter, target));
  HEADRACE_TRY(std::vector<std::string> orders, fields.texts("order_by"));
  if (orders.empty()) orders = defaults.orders;
  orders.insert(orders.end(), defaults.tie_breaks.begin(), defaults.tie_breaks.end());
  for (const std::string& text : orders) {
    HEADRACE_TRY(SearchOrder order, parse_order(text, target));
    if (order.column.entity != Entity::kAttribute)
      return Error{Code::kInvalidArgument, "Invalid order_by entity: the registry is ordered by attributes"};
    search.orders.push_back(std::move(order));
  }
  HEADRACE_TRY(const auto most, fields.integer("max_results"));
  HEADRACE_TRY(search.token, fields.text("page_token"));
  search.limit = most.value_or(defaults.limit);
  if (search.limit >= 1 && search.limit <= defaults.most) return search;
  return Error{Code::kInvalidArgument, concat("Invalid value for request parameter max_results: it is ",
                                              search.limit, ", and must be from 1 to ", defaults.most)};
}

ColumnValue registry_tag_value(const Json& tags, const std::string& key) {
  if (tags[key].is_string()) return tags[key].text();
  // MLflow's client excludes prompts by searching for this value.
  return key == kPromptTag ? ColumnValue("false") : ColumnValue();
}

ColumnValue text_value(const Json& value) {
  return value.is_string() ? ColumnValue(value.text()) : ColumnValue();
}

ColumnValue registered_model_value(const RegisteredModel& model, const SearchColumn& column) {
  const Json& state = *model.state;
  if (column.entity == Entity::kTag) return registry_tag_value(state["tags"], column.key);
  if (column.key == "name") return model.name;
  if (column.key == "creation_timestamp") return state.get<double>("created");
  return static_cast<double>(updated_ms(model, state));
}

struct FoundVersion {
  const RegisteredModel* model;
  std::uint64_t number;
};

ColumnValue model_version_value(const FoundVersion& version, const ArtifactFolderUri& uri,
                                const SearchColumn& column) {
  const Json& facts = find_version(*version.model, version.number);
  if (column.entity == Entity::kTag) return registry_tag_value(facts["tags"], column.key);
  if (column.key == "name") return version.model->name;
  if (column.key == "run_id") return text_value(facts["run"]);
  if (column.key == "source_path") return uri.shown(facts.get<std::string>("source"));
  if (column.key == "version_number") return static_cast<double>(version.number);
  if (column.key == "creation_timestamp") return facts.get<double>("created");
  return static_cast<double>(updated_ms(*version.model, facts));
}

// Keeps the matches, sorts them as requested, and returns the requested page.
template <typename Found, typename ValueOf>
Result<ListPage> select_page(std::vector<Found>& found, const RegistrySearch& search, std::int64_t most,
                             const ValueOf& value_of) {
  std::erase_if(found, [&](const Found& each) {
    return !search.filter.matches(
        [&](const SearchColumn& column) -> std::vector<ColumnValue> { return {value_of(each, column)}; });
  });
  std::stable_sort(found.begin(), found.end(), [&](const Found& one, const Found& other) {
    for (const SearchOrder& order : search.orders) {
      const ColumnValue a = value_of(one, order.column);
      const ColumnValue b = value_of(other, order.column);
      if (value_comes_before(a, b, order.is_ascending)) return true;
      if (value_comes_before(b, a, order.is_ascending)) return false;
    }
    return false;
  });
  return find_page(found.size(), search.token, static_cast<std::size_t>(std::min(search.limit, most)));
}

Json search_answer(std::string_view name, Json::Array found, const ListPage& page) {
  Json answer = Json::object();
  answer[name] = std::move(found);
  if (!page.next_token.empty()) answer["next_page_token"] = page.next_token;
  return answer;
}

}  // namespace

Result<std::vector<RegisteredModel>> RegisteredModels::load_all(const CallOptions& call) {
  HEADRACE_TRY(const auto names, names_.all(call));
  std::set<std::string, std::less<>> ids;
  for (const auto& [name, entry] : names) ids.insert(entry.id);
  const auto log_of_id = [&](const std::string& id) { return ids.contains(id) ? log_of(id) : nullptr; };
  HEADRACE_CHECK(
      load_latest_states(root_.at(concat(kStatesFolder, "/registered-models")), log_of_id, warn_, call));
  std::vector<RegisteredModel> models;
  for (const auto& [name, entry] : names) {
    State state = log_of(entry.id)->known();
    if (state->is_object()) models.push_back({name, entry, std::move(state)});
  }
  return models;
}

Result<Json> RegisteredModels::search(const RequestFields& fields, const CallOptions& call) {
  static const SearchDefaults kDefaults = {
      {}, {"name ASC"}, kDefaultRegisteredModels, kRegisteredModelsPerPage};
  HEADRACE_TRY(const RegistrySearch search,
               parse_registry_search(fields, registered_model_target(), kDefaults));
  HEADRACE_TRY(std::vector<RegisteredModel> models, load_all(call));
  HEADRACE_TRY(const ListPage page,
               select_page(models, search, kRegisteredModelsPerPage, registered_model_value));
  Json::Array found;
  for (std::size_t i = page.begin; i < page.end; ++i)
    found.push_back(registered_model_to_json(models[i], artifacts_));
  return search_answer("registered_models", std::move(found), page);
}

Result<Json> RegisteredModels::search_versions(const RequestFields& fields, const CallOptions& call) {
  static const SearchDefaults kDefaults = {{"last_updated_timestamp DESC"},
                                           {"name ASC", "version_number DESC"},
                                           kDefaultVersions,
                                           kVersionsAskedFor};
  HEADRACE_TRY(const RegistrySearch search, parse_registry_search(fields, model_version_target(), kDefaults));
  HEADRACE_TRY(const std::vector<RegisteredModel> models, load_all(call));
  std::vector<FoundVersion> versions;
  for (const RegisteredModel& model : models) {
    for_each_version(model, [&](std::uint64_t number, const Json&) { versions.push_back({&model, number}); });
  }
  const auto value_of = [this](const FoundVersion& version, const SearchColumn& column) {
    return model_version_value(version, artifacts_, column);
  };
  HEADRACE_TRY(const ListPage page, select_page(versions, search, kVersionsPerPage, value_of));
  Json::Array found;
  for (std::size_t i = page.begin; i < page.end; ++i)
    found.push_back(model_version_to_json(*versions[i].model, versions[i].number, artifacts_));
  return search_answer("model_versions", std::move(found), page);
}

}  // namespace headrace::mlflow
