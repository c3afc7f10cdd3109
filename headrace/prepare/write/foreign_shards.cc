#include "headrace/prepare/write/foreign_shards.h"

#include <algorithm>

#include "headrace/prepare/write/plan_claim.h"

namespace headrace {

Result<std::vector<std::string>> find_foreign_shards(const Location& output, const CallOptions& call) {
  const std::vector<std::string> own = prepare_output().names;
  const std::string prefix = folder_prefix(output.key);
  const ListOptions options{.collapse_folders = true, .call = call};
  std::vector<std::string> names;
  HEADRACE_CHECK(output.store->list(prefix, options, [&](const ObjectInfo& object) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    const bool is_shard = !name.ends_with('/') && name.find(".tfrecord") != name.npos;
    const auto is_of = [&](const std::string& pattern) { return matches_name(pattern, name); };
    if (is_shard && std::ranges::none_of(own, is_of)) names.emplace_back(name);
    return true;
  }));
  return names;
}

}  // namespace headrace
