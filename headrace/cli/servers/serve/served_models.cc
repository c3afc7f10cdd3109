#include "headrace/cli/servers/serve/served_models.h"

#include <algorithm>
#include <vector>

#include "headrace/base/text.h"

namespace headrace {

void ServedModels::add(std::unique_ptr<LiveModel> model) {
  std::string name = model->name();
  models_.emplace(std::move(name), std::move(model));
}

Result<const LiveModel*> ServedModels::find(std::string_view name) const {
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second.get();
  std::vector<std::string> names;
  for (const auto& [each, model] : models_) names.push_back(each);
  return Error{Code::kNotFound,
               concat("no model ", printable_line(name, 128), " is served; there are: ", join(names, ", "))};
}

Result<std::shared_ptr<ServedVersion>> ServedModels::find_version(const RequestedModel& requested) const {
  HEADRACE_TRY(const LiveModel* const model, find(requested.name));
  std::optional<std::uint64_t> number;
  if (requested.version) number = static_cast<std::uint64_t>(*requested.version);
  return model->find(number, requested.label);
}

bool ServedModels::are_ready() const {
  return std::ranges::all_of(models_, [](const auto& each) { return each.second->is_ready(); });
}

}  // namespace headrace
