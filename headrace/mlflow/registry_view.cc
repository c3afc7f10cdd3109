#include "headrace/mlflow/registry_view.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/mlflow/experiments.h"

namespace headrace::mlflow {
namespace {

constexpr std::string_view kServedArtifacts = "mlflow-artifacts:/";

Json aliases_of(const Json& aliases, std::uint64_t number) {
  Json::Array out;
  if (!aliases.is_object()) return out;
  for (const auto& [alias, version] : aliases.members()) {
    if (version == Json(number)) out.push_back(alias);
  }
  return out;
}

Json aliases_to_json(const Json& aliases) {
  Json::Array out;
  if (!aliases.is_object()) return out;
  for (const auto& [alias, version] : aliases.members())
    out.push_back({{"alias", alias}, {"version", version.dump()}});
  return out;
}

// MLflow joins paths by Python's `urlunparse`, which drops an empty authority: file:/a for file:///a.
std::string with_authority(std::string_view uri) {
  const std::size_t colon = uri.find(":/");
  const bool lacks_it = colon != uri.npos && !uri.substr(colon + 2).starts_with('/');
  return lacks_it ? concat(uri.substr(0, colon), "://", uri.substr(colon + 1)) : std::string(uri);
}

void copy_if_there(const Json& facts, std::string_view key, Json& out, std::string_view as) {
  if (facts[key].is_string()) out[as] = facts[key];
}

}  // namespace

std::string ArtifactFolderUri::shown(std::string_view kept) const {
  const bool is_there = !uri_.empty() && kept.starts_with(kServedArtifacts);
  return is_there ? concat(uri_, "/", kept.substr(kServedArtifacts.size())) : std::string(kept);
}

std::string ArtifactFolderUri::kept(std::string_view shown) const {
  const std::string full = with_authority(shown);
  const std::string folder = concat(uri_, "/");
  if (uri_.empty() || !full.starts_with(folder)) return std::string(shown);
  return concat(kServedArtifacts, full.substr(folder.size()));
}

const Json& find_version(const RegisteredModel& model, std::uint64_t number) {
  return (*model.state)["model_versions"][concat(number)];
}

void for_each_version(const RegisteredModel& model,
                      const std::function<void(std::uint64_t number, const Json& facts)>& visit) {
  const Json& versions = (*model.state)["model_versions"];
  if (!versions.is_object()) return;
  for (const auto& [digits, facts] : versions.members()) {
    if (const auto number = parse_number<std::uint64_t>(digits)) visit(*number, facts);
  }
}

std::int64_t updated_ms(const RegisteredModel& model, const Json& facts) {
  return std::max(facts.get<std::int64_t>("updated"), model.entry.renamed_ms);
}

Json model_version_to_json(const RegisteredModel& model, std::uint64_t number, const ArtifactFolderUri& uri) {
  const Json& facts = find_version(model, number);
  Json out = {{"name", model.name},
              {"version", concat(number)},
              {"creation_timestamp", facts.at("created")},
              {"last_updated_timestamp", updated_ms(model, facts)},
              {"current_stage", facts.at("stage")},
              {"source", uri.shown(facts.get<std::string>("source"))},
              {"status", "READY"},
              {"tags", pairs_to_json(texts_of(facts["tags"]))},
              {"aliases", aliases_of((*model.state)["aliases"], number)}};
  copy_if_there(facts, "description", out, "description");
  copy_if_there(facts, "run", out, "run_id");
  copy_if_there(facts, "run_link", out, "run_link");
  copy_if_there(facts, "model", out, "model_id");
  return out;
}

Json latest_versions_to_json(const RegisteredModel& model, const std::vector<std::string>& stages,
                             const ArtifactFolderUri& uri) {
  std::map<std::string, std::uint64_t> latest;  // by stage
  for_each_version(model, [&](std::uint64_t number, const Json& facts) {
    const std::string stage = facts.get<std::string>("stage");
    if (!stages.empty() && std::ranges::find(stages, stage) == stages.end()) return;
    latest[stage] = std::max(latest[stage], number);
  });
  Json::Array out;
  for (const auto& [stage, number] : latest) out.push_back(model_version_to_json(model, number, uri));
  return out;
}

Json registered_model_to_json(const RegisteredModel& model, const ArtifactFolderUri& uri) {
  const Json& state = *model.state;
  Json out = {{"name", model.name},
              {"creation_timestamp", state.at("created")},
              {"last_updated_timestamp", updated_ms(model, state)},
              {"latest_versions", latest_versions_to_json(model, {}, uri)},
              {"tags", pairs_to_json(texts_of(state["tags"]))},
              {"aliases", aliases_to_json(state["aliases"])}};
  copy_if_there(state, "description", out, "description");
  return out;
}

}  // namespace headrace::mlflow
