#include "headrace/prepare/write/leftovers.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headrace/prepare/plan/plan.h"
#include "headrace/prepare/write/plan_claim.h"
#include "headrace/track/published_folder.h"

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

// Objects that are needed at an output.
struct Needed {
  bool only_work_may_go = false;  // nothing was begun there, so who knows whose the rest is
  Patterns names{};               // of the plan in force
  std::set<std::string> parts{};  // of all manifests
};

// None if something is damaged, so that nobody knows what it names.
Result<std::optional<std::set<std::string>>> named_parts(const Location& output, const CallOptions& call) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*output.store, output.at(kManifestPrefix).key, call));
  std::set<std::string> parts;
  for (const std::uint64_t number : numbers) {
    const auto published = find_manifest(output, number, call);
    const bool is_damaged = !published && published.error().code == Code::kDataLoss;
    if (is_damaged) return std::optional<std::set<std::string>>();
    if (!published) return published.error();
    if (!*published) continue;
    for (const ManifestPart& part : (*published)->manifest.parts) parts.insert(part.key);
  }
  return std::optional(std::move(parts));
}

// None if nobody knows, or another stage owns the output.
Result<std::optional<Needed>> find_needed(const Location& output, const CallOptions& call) {
  HEADRACE_TRY(const ChainState chain, read_chain(output, call));
  if (chain.is_free()) {
    HEADRACE_TRY(const bool begun, is_begun(output));
    return begun ? std::optional<Needed>() : std::optional(Needed{.only_work_may_go = true});
  }
  const StageOutput stage = prepare_output();
  HEADRACE_TRY(const auto configuration, begun_configuration(output, stage));
  if (chain.damage || chain.entry == 0 || !configuration) return std::optional<Needed>();
  HEADRACE_TRY(auto parts, named_parts(output, call));
  if (!parts) return std::optional<Needed>();
  Needed needed{.parts = *std::move(parts)};
  if (chain.last == chain.entry) needed.names = stage.names_of(chain.entry, chain.owner);
  return std::optional(std::move(needed));
}

// Whether a plan was begun there, or left work: other folders need not be listed whole.
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

// Parts are written once their plan has claimed the output. So all that is listed before the chain is read
// belongs to a plan that has an entry there, or had one.
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
    return !may_go || matches_any(needed->names, name) || needed->parts.contains(std::string(name));
  });
  std::ranges::sort(found, {}, &ObjectInfo::key);
  return found;
}

}  // namespace headrace
