#include "headrace/cli/servers/serve/served_models.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace {

void ServedModels::publish(ModelTable table) {
  auto made = std::make_shared<const ModelTable>(std::move(table));
  const std::scoped_lock lock(mutex_);
  table_.swap(made);
}

std::shared_ptr<const ModelTable> ServedModels::table() const {
  const std::scoped_lock lock(mutex_);
  return table_;
}

Result<std::shared_ptr<const ServedEntry>> ServedModels::find(std::string_view name) const {
  const auto now = table();
  const auto found = now->models.find(name);
  if (found != now->models.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [each, entry] : now->models) names.push_back(each);
  return Error{Code::kNotFound,
               concat("no model ", printable_line(name, 128), " is served; there are: ", join(names, ", "))};
}

Result<std::shared_ptr<ServedVersion>> ServedModels::find_version(const RequestedModel& requested) const {
  HEADRACE_TRY(const auto entry, find(requested.name));
  std::optional<std::uint64_t> number;
  if (requested.version) number = static_cast<std::uint64_t>(*requested.version);
  return entry->live->find(number, requested.label, released_versions(*entry));
}

std::string ServedModels::first_name() const {
  const auto now = table();
  return now->models.empty() ? "" : now->models.begin()->first;
}

bool ServedModels::are_ready() const {
  const auto now = table();
  return std::ranges::all_of(now->models, [](const auto& each) { return can_answer(*each.second); });
}

std::vector<std::pair<std::string, std::shared_ptr<LiveModel>>> ServedModels::all() const {
  const auto now = table();
  std::vector<std::pair<std::string, std::shared_ptr<LiveModel>>> out;
  for (const auto& [name, entry] : now->models) out.emplace_back(name, entry->live);
  return out;
}

std::vector<VersionName> released_versions(const ServedEntry& entry) {
  std::vector<VersionName> out;
  if (entry.canary) out.push_back(entry.canary->options().version);
  if (entry.shadow) out.push_back(entry.shadow->options().version);
  return out;
}

bool can_answer(const ServedEntry& entry) {
  return entry.live->find({}, {}, released_versions(entry)).has_value();
}

}  // namespace headrace
