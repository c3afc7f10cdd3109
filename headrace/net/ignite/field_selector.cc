#include "headrace/net/ignite/field_selector.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::ignite {
namespace {

bool lies_below(std::string_view name, std::string_view above) {
  return name.starts_with(above) && (name.size() == above.size() || name[above.size()] == '.');
}

}  // namespace

std::string field_path(std::string_view above, std::string_view name, std::int32_t id) {
  return name.empty() ? concat(above, ".#", id) : concat(above, ".", name);
}

bool FieldPaths::select(std::string_view name) const {
  return paths_.empty() ||
         std::ranges::any_of(paths_, [name](const std::string& path) { return lies_below(name, path); });
}

bool FieldPaths::lead_to(std::string_view name) const {
  return select(name) ||
         std::ranges::any_of(paths_, [name](const std::string& path) { return lies_below(path, name); });
}

FieldLevel* FieldSelector::level(std::string_view name) {
  if (!paths_.lead_to(name)) return nullptr;
  const auto found = levels_.find(name);
  if (found != levels_.end()) return &found->second;
  FieldLevel level{.name = std::string(name), .is_selected = paths_.select(name)};
  return &levels_.emplace(name, std::move(level)).first->second;
}

const FieldPlan* FieldSelector::plan(FieldLevel& level, std::int32_t type_id, std::int32_t schema_id) {
  const std::uint64_t key =
      std::uint64_t{static_cast<std::uint32_t>(type_id)} << 32 | static_cast<std::uint32_t>(schema_id);
  if (const auto known = level.plans.find(key); known != level.plans.end()) return &known->second;
  const Result<std::shared_ptr<const BinaryType>> type = types_.find(type_id, schema_id);
  if (!type) return nullptr;
  const std::vector<std::size_t>& fields = (*type)->find_schema(schema_id)->fields;
  FieldPlan plan{.field_count = fields.size()};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const TypeField& field = (*type)->fields[fields[i]];
    FieldLevel* const below = this->level(field_path(level.name, field.name, field.id));
    if (below != nullptr) plan.steps.push_back({i, below});
  }
  return &level.plans.emplace(key, std::move(plan)).first->second;
}

}  // namespace headrace::ignite
