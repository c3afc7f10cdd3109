#include "headrace/prepare/write/leftovers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/write/plan_claim.h"

namespace headrace {
namespace {

using Patterns = std::vector<std::string>;

bool matches_any(const Patterns& patterns, std::string_view name) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return matches_name(pattern, name); });
}

std::string_view name_of(const Location& output, const ObjectInfo& object) {
  return std::string_view(object.key).substr(folder_prefix(output.key).size());
}

// Describes the objects that are needed at an output.
struct Needed {
  bool only_work_may_go = false;     // no plan was begun there, so other objects may belong to anyone
  Patterns names{};                  // names of the objects of the plan in force
  std::vector<std::string> parts{};  // keys of the parts that manifests name, sorted
};

// Returns none if it is unknown which objects are needed, or if another stage owns the output.
Result<std::optional<Needed>> find_needed(const Location& output, const CallOptions& call) {
  HEADRACE_TRY(const ChainState chain, read_chain(output, call));
  if (chain.is_free()) {
    HEADRACE_TRY(const bool begun, is_begun(output));
    return begun ? std::optional<Needed>() : std::optional(Needed{.only_work_may_go = true});
  }
  const StageOutput stage = prepare_output();
  HEADRACE_TRY(const auto configuration, begun_configuration(output, stage));
  if (chain.damage || chain.entry == 0 || !configuration) return std::optional<Needed>();
  auto parts = published_parts(output, stage, 0, call);
  if (!parts && parts.error().code == Code::kDataLoss) return std::optional<Needed>();
  if (!parts) return std::move(parts).error();
  Needed needed{.parts = *std::move(parts)};
  if (chain.last == chain.entry) needed.names = stage.names_of(chain.entry, chain.owner);
  return std::optional(std::move(needed));
}

// Whether a plan was begun there or left work objects. Other folders need not be listed completely.
Result<bool> may_have_leftovers(const Location& output, const CallOptions& call) {
  bool found = false;
  for (const std::string_view name : {kManifestPrefix, kWorkFolder}) {
    if (found) break;
    HEADRACE_CHECK(output.store->list(output.at(name).key, {.call = call}, [&](const ObjectInfo&) {
      found = true;
      return false;
    }));
  }
  return found;
}

}  // namespace

// A plan writes parts only after it has claimed the output. So every part that is listed before the chain is
// read belongs to a plan that has, or had, an entry there.
Result<std::vector<ObjectInfo>> find_leftovers(const Location& output, const CallOptions& call) {
  Patterns names = prepare_output().names;
  names.emplace_back(kWorkFolder);
  std::vector<ObjectInfo> found;
  HEADRACE_TRY(const bool may_have, may_have_leftovers(output, call));
  if (!may_have) return found;
  HEADRACE_CHECK(output.store->list(folder_prefix(output.key), {.call = call}, [&](const ObjectInfo& object) {
    if (matches_any(names, name_of(output, object))) found.push_back(object);
    return true;
  }));
  if (found.empty()) return found;
  HEADRACE_TRY(const std::optional<Needed> needed, find_needed(output, call));
  if (!needed) return std::vector<ObjectInfo>();
  std::erase_if(found, [&](const ObjectInfo& object) {
    const std::string_view name = name_of(output, object);
    const bool may_go = !needed->only_work_may_go || name.starts_with(kWorkFolder);
    return !may_go || matches_any(needed->names, name) ||
           std::ranges::binary_search(needed->parts, object.key);
  });
  std::ranges::sort(found, {}, &ObjectInfo::key);
  return found;
}

}  // namespace headrace
