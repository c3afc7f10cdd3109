#include "headrace/cli/tombstones.h"

#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

bool ends_in_tombstone(const ChainState& chain) {
  return chain.entry == chain.last && chain.last > 0 && chain.owner.action == OwnershipAction::kRemove;
}

Status leave_tombstone(const Location& folder, const Actor& actor, const CallOptions& call) {
  HEADRACE_TRY(const ChainState seen, read_chain(folder, call));
  if (seen.last == 0 || ends_in_tombstone(seen)) return {};
  const auto taken = Ownership::take(
      folder, seen,
      {.action = OwnershipAction::kRemove, .output_entry = seen.owner.output_entry, .actor = actor}, call);
  return taken ? Status{} : Status(taken.error());
}

}  // namespace

std::vector<Location> chains_of(const Location& store, std::span<const std::string> keys) {
  std::vector<Location> folders;
  for (const std::string& key : keys) {
    const std::string folder = parent_key(parent_key(key));
    if (folders.empty() || folders.back().key != folder) folders.push_back(with_key(store, folder));
  }
  return folders;
}

Result<std::optional<std::string>> find_tombstone(const Location& folder, const CallOptions& call) {
  HEADRACE_TRY(const ChainState chain, read_chain(folder, call));
  if (!ends_in_tombstone(chain)) return std::optional<std::string>();
  return std::optional(numbered_key(folder.at(kManifestPrefix).key, chain.last));
}

Status leave_tombstones(std::span<const Location> folders, const Actor& actor, const CallOptions& call) {
  for (const Location& folder : folders) {
    Status left = leave_tombstone(folder, actor, call);
    if (!left && left.error().code == Code::kAborted) {
      return Error{Code::kFailedPrecondition, concat(folder.describe(),
                                                     " was begun anew or published meanwhile; run the same "
                                                     "command again if that is to go, too")};
    }
    HEADRACE_CHECK(left);
  }
  return {};
}

}  // namespace headrace
