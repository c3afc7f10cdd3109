#include "headrace/engine/engine.h"

namespace headrace {

Result<std::map<std::string, Tensor>> read_variables(Model& model) {
  constexpr std::string_view kSignature = "variables";
  std::vector<std::string> names;
  if (const auto found = model.signatures().find(kSignature); found != model.signatures().end()) {
    for (const auto& [name, info] : found->second.outputs) names.push_back(name);
  }
  HEADRACE_TRY(const auto call, model.prepare(kSignature, {}, names));
  std::vector<Tensor> values(names.size());
  HEADRACE_CHECK(call->run({}, values));
  std::map<std::string, Tensor> variables;
  for (std::size_t i = 0; i < names.size(); ++i) variables.emplace(names[i], std::move(values[i]));
  return variables;
}

}  // namespace headrace
