#include "headrace/track/stage_output.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/record/manifest.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

constexpr std::string_view kManifestPattern = "_headrace/manifest-########";
constexpr int kTakeAttempts = 20;

bool is_decimal(char character) { return character >= '0' && character <= '9'; }
bool is_hexadecimal(char character) {
  return is_decimal(character) || (character >= 'a' && character <= 'f');
}

// A key below `output`, relative to it.
std::string_view relative(const Location& output, std::string_view key) {
  return key.substr(output.key.empty() ? 0 : output.key.size() + 1);
}

Result<std::vector<std::string>> find_matching(const Location& output, std::string_view pattern) {
  const std::string_view begin = pattern.substr(0, pattern.find_first_of("#%*"));
  std::vector<std::string> keys;
  HEADRACE_CHECK(output.store->list(output.key.empty() ? begin : concat(output.key, "/", begin), {},
                                    [&](const ObjectInfo& object) {
                                      if (matches_name(pattern, relative(output, object.key)))
                                        keys.push_back(object.key);
                                      return true;
                                    }));
  return keys;
}

Location folder_of(const Location& output, const StageOutput::Folder& folder) {
  return folder.key.empty() ? output : output.at(folder.key);
}

bool is_in_chain(std::string_view key) { return key.find(kManifestPrefix) != std::string_view::npos; }

// An object that the stage may have left, or any object in a folder that belongs to the stage alone; none if
// there is no such object. Chains do not count: a removal leaves them.
Result<std::optional<std::string>> find_any(const Location& output, const StageOutput& stage) {
  std::vector<std::string> patterns = stage.names;
  for (const StageOutput::Folder& folder : stage.folders) {
    if (!folder.key.empty()) patterns.push_back(concat(folder.key, "/"));
  }
  for (const std::string& pattern : patterns) {
    HEADRACE_TRY(const std::vector<std::string> keys, find_matching(output, pattern));
    const auto found = std::ranges::find_if_not(keys, is_in_chain);
    if (found != keys.end()) return std::optional(*found);
  }
  return std::optional<std::string>();
}

// The error for an output that another stage began or published.
Error belongs_to_another(const Location& output, const StageOutput& stage, std::string_view what) {
  return {Code::kFailedPrecondition,
          concat(output.describe(), " holds ", what, ", which is not output of headrace ", stage.stage,
                 "; nothing was removed. Choose another URL")};
}

// The stage that a configuration belongs to; empty if the configuration does not name it.
std::string stage_of(const Configuration& configuration) {
  const auto found = configuration.find("stage");
  return found == configuration.end() ? "" : found->second.substr(0, found->second.find(' '));
}

// Checks that an owner belongs to this stage.
Status check_owner(const Location& output, const StageOutput& stage, const OwnershipEntry& owner) {
  const std::string name = stage_of(owner.configuration);
  if (name == stage.stage) return {};
  return belongs_to_another(
      output, stage,
      concat(owner.output_entry > 0 ? "part of the output of " : "output of ", describe(owner.actor)));
}

// The configuration in a former claim: none if there is no claim; kDataLoss if the claim cannot be parsed.
Result<std::optional<Configuration>> read_former(const Location& output, const StageOutput& stage,
                                                 std::string_view key) {
  const Location claim = output.at(key);
  auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) return std::optional<Configuration>();
  const bool is_damaged = !configuration && configuration.error().code == Code::kDataLoss;
  if (!configuration && !is_damaged) return configuration.error();
  const std::string name = is_damaged ? "" : stage_of(*configuration);
  const bool is_of_stage = key == stage.former_claim && (is_damaged || name == stage.stage);
  if (!is_of_stage) {
    return belongs_to_another(
        output, stage,
        name.empty() ? claim.describe() : concat("output of headrace ", name, " (", claim.describe(), ")"));
  }
  if (is_damaged) return configuration.error();
  return std::optional(*std::move(configuration));
}

// Checks that no folder of the stage publishes something of another kind.
Status check_kinds(const Location& output, const StageOutput& stage) {
  for (const StageOutput::Folder& folder : stage.folders) {
    auto published = read_published(folder_of(output, folder), folder.kind);
    if (!published && published.error().code == Code::kInvalidArgument && !folder.other_kind.empty())
      published = read_published(folder_of(output, folder), folder.other_kind);
    if (!published && published.error().code != Code::kDataLoss) return published.error();
  }
  return {};
}

// Checks that the output itself publishes nothing, unless the stage publishes there.
Status check_unpublished(const Location& output, const StageOutput& stage) {
  const auto is_output = [](const StageOutput::Folder& folder) { return folder.key.empty(); };
  if (std::ranges::any_of(stage.folders, is_output)) return {};
  const auto published = read_published(output);
  if (!published) return published.error().code == Code::kDataLoss ? Status{} : Status(published.error());
  if (!*published) return {};
  return belongs_to_another(output, stage, concat("a published ", (*published)->manifest.kind));
}

// Completes `state` if no chain names the owner of the output: there is a former claim, or nothing.
Status examine_former(const Location& output, const StageOutput& stage, OutputState& state) {
  for (const std::string_view key : {kPlanKey, kConfigurationKey}) {
    auto found = read_former(output, stage, key);
    if (!found && found.error().code == Code::kDataLoss) {
      state.chain.damage = found.error();
      continue;
    }
    if (!found) return found.error();
    if (*found) state.begun = *std::move(found);
  }
  HEADRACE_CHECK(check_unpublished(output, stage));
  return check_kinds(output, stage);
}

Status check_nobodys(const Location& output, const StageOutput& stage) {
  HEADRACE_TRY(const std::optional<std::string> found, find_any(output, stage));
  if (!found) return {};
  return Error{Code::kFailedPrecondition,
               concat(output.describe(), " is not an output that headrace ", stage.stage, " began: it holds ",
                      output.store->describe(*found),
                      "; nothing was removed. Choose another URL, or move that object away")};
}

// Whether a name consists of one or more characters followed by a match of the pattern.
bool matches_after_any(std::string_view pattern, std::string_view name) {
  const std::size_t end = std::min(name.find('/'), name.size());
  for (std::size_t at = 1; at <= end; ++at) {
    if (matches_name(pattern, name.substr(at))) return true;
  }
  return false;
}

// Objects that earlier generations have left in the chain of one folder.
struct Superseded {
  std::vector<std::string> chain;  // keys of manifests and entries
  std::vector<std::string> parts;  // keys that the manifests name
};

void add_parts(const Location& folder, const Manifest& manifest, std::vector<std::string>& out) {
  for (const ManifestPart& part : manifest.parts) {
    if (!is_in_chain(part.key)) out.push_back(folder.at(part.key).key);
  }
}

// Adds an object of a chain. Returns whether it is a manifest that can be read.
bool add_superseded(const Location& folder, const NumberedObject& object, Superseded& out) {
  out.chain.push_back(object.object.key);
  if (is_entry(object.data)) return false;
  const auto manifest = parse_manifest(object.data);
  if (manifest) add_parts(folder, *manifest, out.parts);
  return manifest.has_value();
}

// Objects in the output's own chain before the entry that began the generation.
Result<Superseded> superseded_in_output(const Location& output, std::uint64_t generation) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*output.store, output.at(kManifestPrefix).key));
  Superseded superseded;
  for (const std::uint64_t number : numbers) {
    if (number >= generation) break;
    HEADRACE_TRY(const auto object, read_number(output, number));
    if (object) add_superseded(output, *object, superseded);
  }
  return superseded;
}

// Objects in the chain of a folder before the first entry of an owner of this generation. A damaged object
// may be that first entry, so it and the objects after it count as superseded only if an entry of an earlier
// generation follows them.
Result<Superseded> superseded_in_folder(const Location& folder, std::uint64_t generation) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*folder.store, folder.at(kManifestPrefix).key));
  Superseded superseded;
  std::size_t chain_size = 0, part_count = 0;  // of the objects that are certainly superseded
  bool is_certain = true;
  for (const std::uint64_t number : numbers) {
    HEADRACE_TRY(const auto object, read_number(folder, number));
    if (!object) continue;
    const auto entry = parse_entry(object->data, number);
    if (entry && entry->output_entry >= generation) break;
    const bool is_manifest = add_superseded(folder, *object, superseded);
    is_certain = entry || (is_certain && is_manifest);
    if (is_certain) chain_size = superseded.chain.size(), part_count = superseded.parts.size();
  }
  superseded.chain.resize(chain_size);
  superseded.parts.resize(part_count);
  return superseded;
}

Status remove_superseded_in(const Location& folder, bool is_output, std::uint64_t generation) {
  if (generation == 0) return {};  // the content is older than chains, and there is nothing before it
  HEADRACE_TRY(const Superseded superseded, is_output ? superseded_in_output(folder, generation)
                                                      : superseded_in_folder(folder, generation));
  if (!superseded.parts.empty()) HEADRACE_CHECK(folder.store->remove_many(superseded.parts, {}));
  if (superseded.chain.empty()) return {};
  return folder.store->remove_many(superseded.chain, {});
}

// The owner from before outputs had chains; none if there was no such owner.
Result<std::optional<OwnershipEntry>> read_former_owner(const Location& claim) {
  auto configuration = read_configuration(claim);
  if (!configuration && configuration.error().code == Code::kNotFound) return std::optional<OwnershipEntry>();
  if (!configuration && configuration.error().code != Code::kDataLoss) return configuration.error();
  OwnershipEntry former;
  if (configuration) former.configuration = *std::move(configuration);
  return std::optional(std::move(former));
}

// Patterns for the names of objects that owners before `entry` may have left.
Result<std::vector<std::string>> names_of_earlier(const Location& output, const StageOutput& stage,
                                                  std::uint64_t entry,
                                                  const std::optional<OwnershipEntry>& former) {
  std::vector<std::string> names;
  if (former) names = stage.names_of(0, *former);
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*output.store, output.at(kManifestPrefix).key));
  for (const std::uint64_t number : numbers) {
    if (number >= entry) break;
    const auto earlier = read_entry(output, number);
    if (!earlier && earlier.error().code != Code::kDataLoss) return earlier.error();
    if (!earlier) continue;  // a manifest, or damaged
    for (std::string& name : stage.names_of(number, *earlier)) names.push_back(std::move(name));
  }
  return names;
}

// Removes objects that match one of the names and that no manifest names. Returns false and removes nothing
// while a manifest is damaged, because its parts are unknown.
Result<bool> remove_unpublished(const Location& output, const StageOutput& stage, std::uint64_t generation,
                                const std::vector<std::string>& names) {
  std::vector<std::string> found;
  HEADRACE_CHECK(output.store->list(folder_prefix(output.key), {}, [&](const ObjectInfo& object) {
    const std::string_view name = relative(output, object.key);
    const auto matches = [&](const std::string& pattern) { return matches_name(pattern, name); };
    if (std::ranges::any_of(names, matches)) found.push_back(object.key);
    return true;
  }));
  if (found.empty()) return true;
  const auto parts = published_parts(output, stage, generation);
  if (!parts && parts.error().code == Code::kDataLoss) return false;
  if (!parts) return parts.error();
  std::erase_if(found, [&](const std::string& key) { return std::ranges::binary_search(*parts, key); });
  if (!found.empty()) HEADRACE_CHECK(output.store->remove_many(found, {}));
  return true;
}

// If nothing is published, removes at once what was begun before outputs had chains: its names would be in
// the way.
Status remove_former(const Location& output, const StageOutput& stage) {
  const Location claim = output.at(stage.former_claim);
  HEADRACE_TRY(const std::optional<OwnershipEntry> former, read_former_owner(claim));
  if (!former) return {};
  HEADRACE_TRY(const bool is_removed, remove_unpublished(output, stage, 0, stage.names_of(0, *former)));
  return is_removed ? remove_object(*claim.store, claim.key) : Status{};
}

}  // namespace

Result<std::vector<std::string>> published_parts(const Location& output, const StageOutput& stage,
                                                 std::uint64_t generation, const CallOptions& call) {
  std::vector<std::string> parts;
  for (const StageOutput::Folder& folder : stage.folders) {
    const Location place = folder_of(output, folder);
    HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
                 present_numbers(*place.store, place.at(kManifestPrefix).key, call));
    for (const std::uint64_t number : numbers) {
      if (folder.key.empty() && number < generation) continue;
      HEADRACE_TRY(const auto published, find_manifest(place, number, call));
      if (published) add_parts(place, published->manifest, parts);
    }
  }
  std::ranges::sort(parts);
  return parts;
}

bool matches_name(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('/')) return name.size() > pattern.size() && name.starts_with(pattern);
  std::size_t at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (at == name.size()) return false;
    if (pattern[i] == '*') return matches_after_any(pattern.substr(i + 1), name.substr(at));
    const char wanted = pattern[i];
    const bool fits = wanted == '#'   ? is_decimal(name[at])
                      : wanted == '%' ? is_hexadecimal(name[at])
                                      : wanted == name[at];
    if (!fits) return false;
    ++at;
    const bool ends_number = wanted == '#' && (i + 1 == pattern.size() || pattern[i + 1] != '#');
    while (ends_number && at < name.size() && is_decimal(name[at])) ++at;
  }
  return at == name.size();
}

Status remove_matching(const Location& output, std::string_view pattern) {
  HEADRACE_TRY(const std::vector<std::string> keys, find_matching(output, pattern));
  return keys.empty() ? Status{} : output.store->remove_many(keys, {});
}

std::string owner_suffix(std::uint64_t entry, OwnershipAction action) {
  return entry == 1 && action == OwnershipAction::kBegin ? "" : concat("-o", entry);
}

Result<std::optional<Configuration>> begun_configuration(const Location& output, const StageOutput& stage) {
  HEADRACE_TRY(const ChainState chain, read_chain(output));
  std::optional<Configuration> begun;
  if (chain.entry > 0) {
    if (chain.owner.action != OwnershipAction::kRemove) begun = chain.owner.configuration;
  } else if (!chain.damage) {
    const auto former = read_configuration(output.at(stage.former_claim));
    const bool is_missing =
        !former && (former.error().code == Code::kNotFound || former.error().code == Code::kDataLoss);
    if (!former && !is_missing) return former.error();
    if (former) begun = *former;
  }
  if (begun && stage_of(*begun) != stage.stage) begun.reset();
  return begun;
}

Result<OutputState> examine_output(const Location& output, const StageOutput& stage,
                                   const Configuration& configuration, bool overwrite) {
  OutputState state;
  HEADRACE_TRY(state.chain, read_chain(output));
  const bool is_owned = state.chain.entry > 0 && state.chain.owner.action != OwnershipAction::kRemove;
  if (is_owned) {
    HEADRACE_CHECK(check_owner(output, stage, state.chain.owner));
    state.begun = state.chain.owner.configuration;
  } else {
    HEADRACE_CHECK(examine_former(output, stage, state));
  }
  if (!overwrite && state.chain.damage) return *state.chain.damage;
  if (overwrite) {
    // After a removal, objects here come from a process that did not know of the removal yet.
    if (!state.begun && !state.chain.damage && state.chain.last == 0)
      HEADRACE_CHECK(check_nobodys(output, stage));
    return state;
  }
  if (state.begun) HEADRACE_CHECK(check_same(*state.begun, configuration, output.describe()));
  state.is_own = state.begun.has_value();
  return state;
}

Result<std::optional<PublishedFolder>> published_in(const Location& output, std::string_view folder,
                                                    const ChainState& seen) {
  const Location place = output.at(folder);
  HEADRACE_TRY(const ChainState chain, read_chain(place));
  if (chain.damage) return *chain.damage;
  if (chain.owner.output_entry > seen.last) return lost_output(place, chain.entry);
  const bool is_earlier = chain.owner.output_entry < seen.generation();
  if (is_earlier || chain.published_now() == 0) return std::optional<PublishedFolder>();
  return read_published(place, {.number = chain.published_now()});
}

Result<bool> is_begun(const Location& output) {
  HEADRACE_TRY(const ChainState chain, read_chain(output));
  if (!chain.is_free()) return true;
  for (const std::string_view key : {kPlanKey, kConfigurationKey}) {
    const auto claim = output.store->stat(output.at(key).key, {});
    if (claim) return true;
    if (claim.error().code != Code::kNotFound) return claim.error();
  }
  return false;
}

Result<std::optional<Configuration>> configuration_of(const Location& output, const Manifest& published,
                                                      std::string_view claim) {
  if (published.entry > 0) {
    auto entry = read_entry(output, published.entry);
    if (entry) return std::optional(std::move(entry->configuration));
    if (entry.error().code != Code::kDataLoss) return std::move(entry).error();
    HEADRACE_TRY(const ChainState chain, read_chain(output));
    if (chain.entry == published.entry) return std::move(entry).error();
    return Error{Code::kAborted, concat(output.describe(),
                                        " was overwritten or removed meanwhile; run the same command again")};
  }
  auto configuration = read_configuration(output.at(claim));
  if (!configuration && configuration.error().code == Code::kNotFound) return std::optional<Configuration>();
  if (!configuration) return std::move(configuration).error();
  return std::optional(*std::move(configuration));
}

OwnershipAction OwnedOutput::action_for(const OutputState& seen, bool overwrite) {
  if (seen.is_own) return OwnershipAction::kTakeOver;
  const bool is_replaced = overwrite && (seen.begun || seen.chain.damage || seen.chain.published > 0);
  return is_replaced ? OwnershipAction::kOverwrite : OwnershipAction::kBegin;
}

Result<OwnedOutput> OwnedOutput::take(const Location& output, const StageOutput& stage,
                                      const OutputState& seen, Claim claim) {
  OwnedOutput owned(output, stage);
  if (claim.action == OwnershipAction::kOverwrite && seen.chain.last == 0)
    HEADRACE_CHECK(remove_former(output, stage));
  HEADRACE_TRY(Ownership ownership, Ownership::take(output, seen.chain,
                                                    {.action = claim.action,
                                                     .configuration = std::move(claim.configuration),
                                                     .actor = claim.actor}));
  owned.suffix_ = owner_suffix(ownership.entry(), claim.action);
  const bool is_continued =
      claim.action == OwnershipAction::kTakeOver || claim.action == OwnershipAction::kContinue;
  owned.folders_.insert_or_assign(
      "", OwnedFolder{std::move(ownership), is_continued ? seen.chain.published_now() : 0});
  for (const StageOutput::Folder& folder : stage.folders) {
    if (!folder.key.empty()) HEADRACE_CHECK(owned.take_folder(folder, claim));
  }
  // A process that removed the output in between did not see the new chains of its folders.
  if (owned.folders_.size() > 1) HEADRACE_CHECK(owned.in("").check_held());
  return owned;
}

// In the chain of a folder, the numbers of the output's entries only grow. So an owner that finds an entry of
// a later owner has lost the output.
Status OwnedOutput::take_folder(const StageOutput::Folder& folder, const Claim& claim) {
  const Location place = output_.at(folder.key);
  for (int attempt = 1;; ++attempt) {
    HEADRACE_TRY(const ChainState seen, read_chain(place));
    if (seen.owner.output_entry > entry()) return lost_output(place, seen.entry);
    const bool is_earlier = seen.owner.output_entry < generation() || seen.damage;
    OwnershipAction action = OwnershipAction::kTakeOver;
    if (is_earlier) {
      HEADRACE_TRY(const bool keeps_published, overwrites_published(seen));
      action = keeps_published ? OwnershipAction::kOverwrite : OwnershipAction::kBegin;
    }
    OwnershipEntry next{.action = action, .output_entry = entry(), .actor = claim.actor};
    auto taken = Ownership::take(place, seen, std::move(next));
    if (taken) {
      folders_.insert_or_assign(std::string(folder.key),
                                OwnedFolder{*std::move(taken), is_earlier ? 0 : seen.published_now()});
      return {};
    }
    if (taken.error().code != Code::kAborted || attempt == kTakeAttempts) return taken.error();
  }
}

// Whether readers continue to use what an earlier generation published in a folder. They do not if the output
// itself was begun: then it was new or removed, and a removal may still be removing those objects.
Result<bool> OwnedOutput::overwrites_published(const ChainState& folder) const {
  if (folder.published == 0 || generation() == 0) return folder.published > 0;
  const auto first = read_entry(output_, generation());
  if (!first && first.error().code != Code::kDataLoss) return first.error();
  return first && first->action == OwnershipAction::kOverwrite;
}

OwnedOutput OwnedOutput::join(const Location& output, const StageOutput& stage, const OutputState& seen) {
  OwnedOutput owned(output, stage);
  const ChainState& chain = seen.chain;
  owned.folders_.insert_or_assign(
      "", OwnedFolder{Ownership(output, chain.entry, chain.generation(), chain.entry), 0});
  return owned;
}

Ownership& OwnedOutput::in(std::string_view folder) { return folders_.find(folder)->second.ownership; }

const Ownership& OwnedOutput::in(std::string_view folder) const {
  return folders_.find(folder)->second.ownership;
}

std::uint64_t OwnedOutput::published_number(std::string_view folder) const {
  return folders_.find(folder)->second.published_before;
}

Result<std::optional<PublishedFolder>> OwnedOutput::published(std::string_view folder) const {
  const OwnedFolder& owned = folders_.find(folder)->second;
  if (owned.published_before == 0) return std::optional<PublishedFolder>();
  return read_published(owned.ownership.folder(), {.number = owned.published_before});
}

Status remove_superseded(const Location& output, const StageOutput& stage, std::uint64_t generation,
                         std::uint64_t entry) {
  const Location claim = output.at(stage.former_claim);
  std::optional<OwnershipEntry> former;
  if (generation > 0) {
    HEADRACE_TRY(former, read_former_owner(claim));
  }
  HEADRACE_TRY(const std::vector<std::string> names, names_of_earlier(output, stage, entry, former));
  for (const StageOutput::Folder& folder : stage.folders) {
    if (!folder.key.empty()) HEADRACE_CHECK(remove_superseded_in(output.at(folder.key), false, generation));
  }
  if (!names.empty()) {
    HEADRACE_TRY(const bool is_removed, remove_unpublished(output, stage, generation, names));
    if (!is_removed) return {};
  }
  // The output's chain and the claim tell which names to remove, so they are removed last.
  HEADRACE_CHECK(remove_superseded_in(output, true, generation));
  return former ? remove_object(*claim.store, claim.key) : Status{};
}

}  // namespace headrace
