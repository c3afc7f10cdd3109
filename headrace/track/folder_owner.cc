#include "headrace/track/folder_owner.h"

#include "headrace/base/text.h"
#include "headrace/store/layers/stoppable.h"
#include "headrace/store/numbered.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

// The numbers of the manifests after `generation`, up to `last`, in ascending order.
Result<std::vector<std::uint64_t>> manifest_numbers(const Location& folder, std::uint64_t generation,
                                                    std::uint64_t last, const CallOptions& call) {
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*folder.store, folder.at(kManifestPrefix).key, call));
  std::vector<std::uint64_t> manifests;
  for (const std::uint64_t number : numbers) {
    if (number <= generation || number > last) continue;
    HEADRACE_TRY(const auto published, find_manifest(folder, number, call));
    if (published) manifests.push_back(number);
  }
  return manifests;
}

// Checks that nothing else was begun or published in the folder. Checkpoint folders have no configuration.
Status check_is_of(const Location& folder, std::string_view kind, const ChainState& seen,
                   const CallOptions& call) {
  if (seen.is_free()) return {};
  if (!seen.owner.configuration.empty() || seen.owner.output_entry > 0) {
    return Error{Code::kFailedPrecondition,
                 concat(folder.describe(), " holds output of ", describe(seen.owner.actor),
                        ", not checkpoints; choose another URL")};
  }
  if (seen.published == 0) return {};
  const auto published = read_published(folder, kind, {.number = seen.published, .call = call});
  return published ? Status{} : Status(published.error());
}

}  // namespace

Result<std::vector<std::uint64_t>> published_numbers(const Location& folder, const CallOptions& call) {
  HEADRACE_TRY(const ChainState chain, read_chain(folder, call));
  return manifest_numbers(folder, chain.generation(), chain.published, call);
}

Result<FolderOwner> FolderOwner::take(const Location& folder, std::string_view kind, std::string_view command,
                                      std::chrono::system_clock::time_point now,
                                      const std::stop_token& stop) {
  const CallOptions call{.stop = stop};
  HEADRACE_TRY(const ChainState seen, read_chain(folder, call));
  if (seen.damage) return *seen.damage;
  HEADRACE_CHECK(check_is_of(folder, kind, seen, call));
  const OwnershipEntry entry{.action = seen.is_free() ? OwnershipAction::kBegin : OwnershipAction::kTakeOver,
                             .output_entry = seen.owner.output_entry,
                             .actor = this_process(command, "", now)};
  HEADRACE_TRY(const Ownership taken, Ownership::take(folder, seen, entry, call));
  HEADRACE_CHECK(taken.check_held(call));
  return FolderOwner(taken, entry.action == OwnershipAction::kBegin ? 0 : seen.published_now(),
                     owner_suffix(taken.entry(), entry.action));
}

Result<std::optional<PublishedFolder>> FolderOwner::published(std::string_view kind,
                                                              const std::stop_token& stop) const {
  if (published_ == 0) return std::optional<PublishedFolder>();
  return read_published(ownership_.folder(), kind, {.number = published_, .call = {.stop = stop}});
}

Result<std::uint64_t> FolderOwner::publish(const std::string& source, std::string_view role,
                                           Manifest manifest, const std::stop_token& stop) {
  const Location folder = ownership_.folder();
  Ownership ownership(make_stoppable(folder, stop), ownership_.entry(), ownership_.generation(),
                      ownership_.last());
  HEADRACE_TRY(const Published made, publish_folder(source, ownership, {}, {}, role, std::move(manifest)));
  published_ = made.number;
  ownership_ = Ownership(folder, ownership_.entry(), ownership_.generation(), published_);
  return published_;
}

Result<std::vector<std::uint64_t>> FolderOwner::numbers(const std::stop_token& stop) const {
  return manifest_numbers(ownership_.folder(), ownership_.generation(), published_, {.stop = stop});
}

Status FolderOwner::unpublish(std::string_view kind, std::uint64_t number,
                              const std::stop_token& stop) const {
  if (number <= ownership_.generation() || number >= published_)
    return Error{Code::kInvalidArgument,
                 "only checkpoints of this training can be removed, except the latest"};
  const Location& folder = ownership_.folder();
  const CallOptions call{.stop = stop};
  HEADRACE_TRY(const auto published, read_published(folder, kind, {.number = number, .call = call}));
  if (!published) return {};
  HEADRACE_CHECK(remove_object(*folder.store, numbered_key(folder.at(kManifestPrefix).key, number), call));
  std::vector<std::string> keys;
  for (const ManifestPart& part : published->manifest.parts) keys.push_back(folder.at(part.key).key);
  return folder.store->remove_many(keys, call);
}

}  // namespace headrace
