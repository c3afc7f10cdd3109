#include "headrace/cli/tombstones.h"

#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/coordinate/chain.h"
#include "headrace/store/url.h"

namespace headrace {
namespace {

Error begun_meanwhile(const Location& folder) {
  return {Code::kFailedPrecondition, concat(folder.describe(),
                                            " was begun again or published meanwhile; run the same command "
                                            "again to remove that, too")};
}

// Appends to the chain that was found. If the chain has grown since, the new part stays, and the call fails.
Status end_chain(const FoundChain& chain, const Actor& actor, const CallOptions& call) {
  const auto taken = Ownership::take(
      chain.folder, chain.state,
      {.action = OwnershipAction::kRemove, .output_entry = chain.state.owner.output_entry, .actor = actor},
      call);
  if (!taken && taken.error().code == Code::kAborted) return begun_meanwhile(chain.folder);
  return taken ? Status{} : Status(taken.error());
}

}  // namespace

Result<std::vector<FoundChain>> read_chains(const Location& store, std::span<const std::string> keys,
                                            const CallOptions& call) {
  std::vector<FoundChain> chains;
  for (const std::string& key : keys) {
    Location folder = with_key(store, parent_key(parent_key(key)));
    if (!chains.empty() && chains.back().folder.key == folder.key) continue;
    HEADRACE_TRY(ChainState state, read_chain(folder, call));
    chains.push_back({std::move(folder), std::move(state)});
  }
  return chains;
}

Result<std::optional<std::string>> find_tombstone(const Location& folder, const CallOptions& call) {
  HEADRACE_TRY(const ChainState chain, read_chain(folder, call));
  if (!chain.has_ended()) return std::optional<std::string>();
  return std::optional(numbered_key(folder.at(kManifestPrefix).key, chain.last));
}

Status end_chains(std::span<const FoundChain> chains, const Actor& actor, const CallOptions& call) {
  for (const FoundChain& chain : chains) {
    const bool has_end = chain.state.last == 0 || chain.state.has_ended();
    if (!has_end) HEADRACE_CHECK(end_chain(chain, actor, call));
  }
  return {};
}

Status leave_tombstones(std::span<const Location> folders, const Actor& actor, const CallOptions& call) {
  for (const Location& folder : folders) {
    HEADRACE_TRY(ChainState state, read_chain(folder, call));
    const FoundChain chain{folder, std::move(state)};
    HEADRACE_CHECK(end_chains({&chain, 1}, actor, call));
  }
  return {};
}

}  // namespace headrace
