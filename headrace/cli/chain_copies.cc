#include "headrace/cli/chain_copies.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/cli/tombstones.h"
#include "headrace/os/parallel.h"
#include "headrace/store/transfer/object_transfer.h"

namespace headrace {
namespace {

// The number that an object has in its folder's chain.
std::optional<std::uint64_t> number_of(std::string_view name) {
  if (!is_manifest_key(name)) return std::nullopt;
  const std::size_t begin = name.rfind(kManifestPrefix) + kManifestPrefix.size();
  return number_of_digits(name.substr(begin));
}

std::string name_of(const std::string& folder, std::uint64_t number) {
  return numbered_key(join_key(folder, kManifestPrefix), number);
}

std::uint64_t last_of(const std::map<std::uint64_t, ObjectPair>& chain,
                      std::optional<ObjectInfo> ObjectPair::*side) {
  std::uint64_t last = 0;
  for (const auto& [number, pair] : chain) {
    if (pair.*side) last = number;
  }
  return last;
}

std::string part_text(const ManifestPart& part) {
  return concat(part.key, "\n", part.size_bytes, " ", part.crc32c);
}

std::uint64_t hash_of(std::string_view name) { return siphash({}, as_bytes(name)); }

}  // namespace

bool ChainCopies::take(ObjectPair& pair) {
  const auto number = number_of(pair.name);
  if (!number) return false;
  Chain& chain = chains_[parent_key(parent_key(pair.name))];
  chain[*number] = std::move(pair);
  return true;
}

Status ChainCopies::check() {
  all_listed_ = true;
  for (auto& [folder, chain] : chains_) HEADRACE_CHECK(compare(folder, chain));
  return {};
}

Result<bool> ChainCopies::has_any() {
  for (const auto& [folder, chain] : chains_) {
    if (last_of(chain, &ObjectPair::at_from) == 0) continue;
    HEADRACE_TRY(const ChainState state, read_chain(from_.at(folder), options_.call));
    if (!state.has_ended()) return true;
  }
  return false;
}

// Objects that are gone by now count as the same: there is nothing left to compare.
Result<bool> ChainCopies::is_same(const ObjectPair& pair) {
  if (options_.same == SameObjects::kKnown && options_.journal != nullptr &&
      options_.journal->knows(pair.name, *pair.at_from, *pair.at_to))
    return true;
  if (pair.at_from->size_bytes != pair.at_to->size_bytes) return false;
  ObjectTransferOptions options;
  options.write.call = options_.call;
  const Result<bool> same =
      have_same_content(from_.at(pair.name), *pair.at_from, to_.at(pair.name), *pair.at_to, options);
  if (!same && same.error().code == Code::kNotFound) return true;
  if (!same && same.error().code == Code::kFailedPrecondition) return false;
  if (same && *same && options_.journal != nullptr)
    options_.journal->add(pair.name, *pair.at_from, *pair.at_to);
  return same;
}

Status ChainCopies::compare(const std::string& folder, Chain& chain) {
  const std::uint64_t last = last_of(chain, &ObjectPair::at_from);
  const std::uint64_t last_at_target = last_of(chain, &ObjectPair::at_to);
  if (last == 0) return {};
  std::vector<std::uint64_t> others;
  for (auto& [number, pair] : chain) {
    // `from` has superseded the lower numbers that it lacks. But the last number at `to` may be a tombstone.
    if (!pair.at_to || (!pair.at_from && number < last && number < last_at_target)) continue;
    if (!pair.at_from && number > last) {
      // Another copy may have copied what was published after this copy listed FROM.
      HEADRACE_TRY(pair.at_from, find_object(from_.at(pair.name), options_.call));
    }
    HEADRACE_TRY(const bool same, pair.at_from ? is_same(pair) : Result<bool>(false));
    if (!same) others.push_back(number);
  }
  return others.empty() ? Status() : check_numbers_of_another(folder, chain, others);
}

// The chain at `to` has numbers that differ from those of `from`. That is correct if the chain at `to` ends
// in a tombstone, and `from` began again after it; for other tombstones; and for a last number that `from`
// has superseded.
Status ChainCopies::check_numbers_of_another(const std::string& folder, const Chain& chain,
                                             const std::vector<std::uint64_t>& numbers) {
  const Location target = to_.at(folder);
  HEADRACE_TRY(const ChainState from, read_chain(from_.at(folder), options_.call));
  if (from.has_ended()) {
    removed_.insert(folder);
    return {};
  }
  HEADRACE_TRY(const ChainState to, read_chain(target, options_.call));
  if (to.has_ended()) {
    const bool is_later =
        from.generation() > to.last && (from.owner.published == 0 || from.owner.published > to.last);
    if (is_later && chain.contains(to.last)) return {};
    return Error{Code::kFailedPrecondition,
                 concat(target.describe(), " was removed by ", describe(to.owner.actor), " after ",
                        from_.at(folder).describe(),
                        " had been begun: nothing was copied. To copy it there again, remove the tombstone "
                        "with headrace rm -r --forget ",
                        target.url.text())};
  }
  if (!chain.contains(to.last))
    return own_output(folder, to.last);  // it was published after the chain was listed
  for (const std::uint64_t number : numbers) {
    if (!chain.at(number).at_from && number < last_of(chain, &ObjectPair::at_from)) continue;
    const auto entry = read_entry(target, number, options_.call);
    if (!entry && entry.error().code != Code::kDataLoss) return entry.error();
    if (entry && entry->action == OwnershipAction::kRemove) continue;
    return own_output(folder, number);
  }
  return {};
}

Error ChainCopies::own_output(const std::string& folder, std::uint64_t number) const {
  const Location target = to_.at(folder);
  const Result<ChainState> state = read_chain(target, options_.call);
  if (!state) return state.error();
  const std::string owner = state->entry > 0 ? concat(", made by ", describe(state->owner.actor)) : "";
  return Error{
      Code::kFailedPrecondition,
      concat(target.describe(), " is an output of its own", owner, ": manifest-", zero_padded(number, 8),
             " there differs from that of ", from_.at(folder).describe(),
             ". Nothing was replaced or published there. Choose another TO; or, if no process works there, "
             "remove it with headrace rm -r --forget ",
             target.url.text())};
}

Result<ChainCopies::Chain> ChainCopies::list_chain(const std::string& folder) {
  Chain chain;
  HEADRACE_CHECK(list_folder_pair(from_.at(folder), to_.at(folder),
                                  {.name_prefix = std::string(kManifestPrefix), .call = options_.call},
                                  [&](ObjectPair&& pair) {
                                    const auto number = number_of(pair.name);
                                    pair.name = join_key(folder, pair.name);
                                    if (number) chain[*number] = std::move(pair);
                                    return true;
                                  }));
  return chain;
}

// Adds the parts that a manifest names. A tombstone clears all parts before it. Other entries, and objects
// that cannot be read, name none.
Status ChainCopies::add_parts(const Location& object, Parts& parts) const {
  const auto read = read_object(*object.store, object.key, kManifestLimitBytes, options_.call);
  if (!read && read.error().code == Code::kNotFound) return {};
  if (!read) return read.error();
  const auto entry = parse_entry(read->data, number_of(object.key).value_or(0));
  if (entry && entry->action == OwnershipAction::kRemove) parts.clear();
  const auto manifest = parse_manifest(read->data);
  if (!manifest) return {};
  for (const ManifestPart& part : manifest->parts) parts.insert(part.key);
  return {};
}

// The parts that the manifests on both sides name.
Result<ChainCopies::Parts> ChainCopies::parts_of(const std::string& folder) {
  HEADRACE_TRY(Chain chain, list_chain(folder));
  HEADRACE_CHECK(compare(folder, chain));
  Parts parts, parts_of_from;
  for (const auto& [number, pair] : chain) {
    if (pair.at_to) HEADRACE_CHECK(add_parts(to_.at(pair.name), parts));
    if (pair.at_from) HEADRACE_CHECK(add_parts(from_.at(pair.name), parts_of_from));
  }
  parts.merge(parts_of_from);
  return parts;
}

// Whether a folder may have a chain, and so may name parts. A folder that was listed on both sides shows
// that.
bool ChainCopies::may_have_chain(const std::string& folder) const {
  return !all_listed_ || options_.selects || !options_.name_prefix.empty() || chains_.contains(folder);
}

Result<bool> ChainCopies::is_part(std::string_view name, bool is_at_to) {
  const std::lock_guard lock(mutex_);
  for (std::string folder(name); !folder.empty();) {
    folder = parent_key(folder);
    // An object at `to` may have been published since it was listed.
    if (!is_at_to && !may_have_chain(folder)) continue;
    auto known = parts_.find(folder);
    if (known == parts_.end()) {
      HEADRACE_TRY(Parts parts, parts_of(folder));
      known = parts_.emplace(folder, std::move(parts)).first;
    }
    if (known->second.contains(name.substr(folder_prefix(folder).size()))) return true;
  }
  return false;
}

// The parts that are named by manifests at `to` that count there, and that will not be removed.
Result<ChainCopies::Parts> ChainCopies::parts_that_stay(const std::string& folder) {
  Parts parts;
  const Location target = to_.at(folder);
  HEADRACE_TRY(const ChainState state, read_chain(target, options_.call));
  if (state.last == 0) return parts;
  HEADRACE_TRY(const std::vector<std::uint64_t> numbers,
               present_numbers(*target.store, target.at(kManifestPrefix).key, options_.call));
  for (const std::uint64_t number : numbers) {
    const std::string name = name_of(folder, number);
    if (state.counts(number) && !superfluous_.contains(name)) HEADRACE_CHECK(add_parts(to_.at(name), parts));
  }
  return parts;
}

Result<bool> ChainCopies::must_stay(std::string_view name) {
  for (std::string folder(name); !folder.empty();) {
    folder = parent_key(folder);
    if (!may_have_chain(folder)) continue;
    auto known = staying_.find(folder);
    if (known == staying_.end()) {
      HEADRACE_TRY(Parts parts, parts_that_stay(folder));
      known = staying_.emplace(folder, std::move(parts)).first;
    }
    if (known->second.contains(name.substr(folder_prefix(folder).size()))) return true;
  }
  return false;
}

void ChainCopies::copied(std::string_view name, std::optional<std::uint32_t> crc32c) {
  if (!crc32c) return;
  const std::lock_guard lock(mutex_);
  checksums_[hash_of(name)] = *crc32c;
}

Status ChainCopies::publish(const Report& report) {
  for (auto& [folder, chain] : chains_) HEADRACE_CHECK(publish_chain(folder, chain, report));
  return {};
}

Status ChainCopies::publish_chain(const std::string& folder, Chain& chain, const Report& report) {
  if (!removed_.contains(folder)) HEADRACE_CHECK(look_for_tombstone(folder, chain));
  if (removed_.contains(folder)) return {};
  whole_parts_.clear();
  std::vector<std::uint64_t> numbers, held;
  for (const auto& [number, pair] : chain) {
    if (pair.at_from && !pair.at_to) numbers.push_back(number);
    if (pair.at_from && pair.at_to) report({TransferStep::kSame, pair.name, pair.at_from->size_bytes});
  }
  if (numbers.empty()) return {};
  if (!options_.is_dry_run) HEADRACE_CHECK(check_end(folder, chain));
  for (const std::uint64_t number : numbers)
    HEADRACE_CHECK(publish_number(folder, number, chain, &held, report));
  for (const std::uint64_t number : held)
    HEADRACE_CHECK(publish_number(folder, number, chain, nullptr, report));
  return {};
}

// A chain that ends in a tombstone publishes nothing. Tombstones are never copied, so those at `to` are not
// read.
Status ChainCopies::look_for_tombstone(const std::string& folder, Chain& chain) {
  const std::uint64_t last = last_of(chain, &ObjectPair::at_from);
  if (last == 0 || chain[last].at_to) return {};
  const auto entry = read_entry(from_.at(folder), last, options_.call);
  if (!entry && entry.error().code != Code::kDataLoss) return entry.error();
  if (entry && entry->action == OwnershipAction::kRemove) removed_.insert(folder);
  return {};
}

// An entry that names a manifest which `to` lacks is added to `held`. That manifest was superseded, but
// readers look for it until the later manifest is at `to`. Without `held`, such entries are created.
Status ChainCopies::publish_number(const std::string& folder, std::uint64_t number, Chain& chain,
                                   std::vector<std::uint64_t>* held, const Report& report) {
  ObjectPair& pair = chain[number];
  const bool is_last = number == last_of(chain, &ObjectPair::at_from);
  auto read = read_object(*from_.store, from_.at(pair.name).key, kManifestLimitBytes, options_.call);
  // The last number is never removed, unless somebody has published after it. Other numbers may be
  // superseded.
  if (!read && read.error().code == Code::kNotFound)
    return is_last ? Status(changed(folder, number, "it was removed meanwhile")) : Status();
  if (!read) return std::move(read).error();
  HEADRACE_TRY(const Need need, need_of(folder, number, chain, read->data));
  if (need == Need::kNone) return {};
  if (options_.is_dry_run) {
    report({TransferStep::kCopied, pair.name, read->object.size_bytes});
    return {};
  }
  if (need == Need::kLater && is_last) return changed(folder, number, "the manifest that it names is gone");
  if (need == Need::kLater && held != nullptr) {
    held->push_back(number);
    return {};
  }
  return create(folder, number, chain, *read, report);
}

// A tombstone says nothing that later numbers do not say. The parts of a manifest must be whole at `to`.
Result<ChainCopies::Need> ChainCopies::need_of(const std::string& folder, std::uint64_t number,
                                               const Chain& chain, BytesView data) {
  const std::string name = from_.at(name_of(folder, number)).describe();
  if (is_entry(data)) {
    const auto entry = parse_entry(data, number);
    if (!entry) return Error(entry.error()).in(name);
    if (entry->action == OwnershipAction::kRemove) return Need::kNone;
    const auto named = chain.find(entry->published);
    const bool is_there = entry->published == 0 || (named != chain.end() && named->second.at_to);
    return is_there ? Need::kNow : Need::kLater;
  }
  const auto manifest = parse_manifest(data);
  if (!manifest) return Error(manifest.error()).in(name);
  if (manifest->entry > 0 && !chain.contains(manifest->entry))
    return changed(folder, number, concat("entry ", manifest->entry, " of its owner is gone"));
  if (!options_.is_dry_run) HEADRACE_CHECK(check_parts(folder, number, *manifest));
  return Need::kNow;
}

Status ChainCopies::check_parts(const std::string& folder, std::uint64_t number, const Manifest& manifest) {
  std::vector<const ManifestPart*> parts;
  for (const ManifestPart& part : manifest.parts)
    if (whole_parts_.insert(part_text(part)).second) parts.push_back(&part);
  Status whole =
      parallel_for(options_.jobs, parts.size(), [&](std::size_t i) { return check_part(folder, *parts[i]); });
  const bool differs =
      !whole && (whole.error().code == Code::kNotFound || whole.error().code == Code::kDataLoss);
  return differs ? changed(folder, number, whole.error().message) : whole;
}

Status ChainCopies::check_part(const std::string& folder, const ManifestPart& part) {
  const std::string name = join_key(folder, part.key);
  const Location target = to_.at(name);
  HEADRACE_TRY(const auto object, find_object(target, options_.call));
  if (!object) return Error{Code::kNotFound, concat("its part ", target.describe(), " is not there")};
  std::optional<std::uint32_t> crc32c = object->crc32c;
  {
    const std::lock_guard lock(mutex_);
    if (const auto read = checksums_.find(hash_of(name)); read != checksums_.end()) crc32c = read->second;
  }
  if (object->size_bytes == part.size_bytes && (!crc32c || *crc32c == part.crc32c)) return {};
  return Error{Code::kDataLoss, concat("its part ", target.describe(), " has other bytes than it says")};
}

// Checks that only copies from `from` have appended to the chain at `to`.
Status ChainCopies::check_end(const std::string& folder, Chain& chain) {
  const Location target = to_.at(folder);
  HEADRACE_TRY(const auto end, latest_number(*target.store, target.at(kManifestPrefix).key, options_.call));
  const std::uint64_t last = last_of(chain, &ObjectPair::at_to);
  if (!end) return last == 0 ? Status() : Status(lost_output(target, last, options_.call));
  const auto known = chain.find(*end);
  if (known == chain.end()) return lost_output(target, *end, options_.call);
  ObjectPair& pair = known->second;
  if (pair.at_to) return {};
  HEADRACE_TRY(pair.at_to, find_object(to_.at(pair.name), options_.call));
  HEADRACE_TRY(const bool same, pair.at_to ? is_same(pair) : Result<bool>(false));
  return same ? Status() : Status(lost_output(target, *end, options_.call));
}

// Numbers of earlier generations are removed, so a number that was taken once may be free again. If somebody
// has continued after a manifest that counts, that manifest was published.
Status ChainCopies::check_created(const std::string& folder, std::uint64_t number, Chain& chain,
                                  BytesView data) {
  Status end = check_end(folder, chain);
  if (end || end.error().code != Code::kAborted || is_entry(data)) return end;
  const Location target = to_.at(folder);
  HEADRACE_TRY(const ChainState now, read_chain(target, options_.call));
  if (now.counts(number)) return {};
  HEADRACE_CHECK(remove_object(*target.store, to_.at(name_of(folder, number)).key, options_.call));
  return end;
}

Status ChainCopies::create(const std::string& folder, std::uint64_t number, Chain& chain,
                           const ReadObject& read, const Report& report) {
  ObjectPair& pair = chain[number];
  const Location target = to_.at(pair.name);
  auto created = target.store->write(target.key, read.data, {.only_if_absent = true, .call = options_.call});
  const bool was_there = !created && created.error().code == Code::kAlreadyExists;
  if (!created && !was_there) return std::move(created).error();
  if (was_there || options_.verify) {
    HEADRACE_TRY(const ReadObject there,
                 read_object(*target.store, target.key, kManifestLimitBytes, options_.call));
    const bool same = std::ranges::equal(there.data, read.data);
    if (!same && !was_there)
      return Error{Code::kDataLoss, concat("the copy ", target.describe(), " differs from what was written")};
    if (!same) return lost_output(to_.at(folder), number, options_.call);
    created = there.object;
  }
  pair.at_to = *created;
  HEADRACE_CHECK(check_created(folder, number, chain, read.data));
  if (options_.journal != nullptr) options_.journal->add_copy(pair.name, read.object, *created);
  report({was_there ? TransferStep::kSame : TransferStep::kCopied, pair.name, read.object.size_bytes,
          crc32c(read.data)});
  return {};
}

Error ChainCopies::changed(const std::string& folder, std::uint64_t number, const std::string& why) const {
  return {Code::kAborted,
          concat(from_.at(name_of(folder, number)).describe(), " was not published at ",
                 to_.at(folder).describe(), ": ", why, ". If ", from_.at(folder).describe(),
                 " is being written, run the same command again; if --include or --exclude leave out parts, "
                 "leave out "
                 "the manifests, too; otherwise headrace verify says which parts are damaged")};
}

Result<std::vector<TransferredObject>> ChainCopies::superfluous() {
  std::vector<TransferredObject> found;
  for (const auto& [folder, chain] : chains_) {
    const bool lives = last_of(chain, &ObjectPair::at_from) > 0 && !removed_.contains(folder);
    std::optional<std::string> tombstone;
    if (!lives && last_of(chain, &ObjectPair::at_to) > 0) {
      HEADRACE_TRY(tombstone, find_tombstone(to_.at(folder), options_.call));
    }
    for (const auto& [number, pair] : chain) {
      if (!pair.at_to || (lives && pair.at_from) || to_.at(pair.name).key == tombstone) continue;
      found.push_back({TransferStep::kRemoved, pair.name, pair.at_to->size_bytes});
      superfluous_.insert(pair.name);
      if (!lives) ending_.insert(folder);
    }
  }
  return found;
}

Status ChainCopies::before_removal() {
  std::vector<Location> folders;
  for (const std::string& folder : ending_) folders.push_back(to_.at(folder));
  return leave_tombstones(folders, actor_, options_.call);
}

}  // namespace headrace
