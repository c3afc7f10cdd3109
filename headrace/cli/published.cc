#include "headrace/cli/published.h"

#include <algorithm>
#include <set>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/coordinate/chain.h"
#include "headrace/os/parallel.h"
#include "headrace/store/numbered.h"

namespace headrace {
namespace {

// Describes what is wrong with the part; empty if nothing is.
Result<std::string> check_part(const Location& location, const ManifestPart& part, const CallOptions& call,
                               const std::function<void(std::uint64_t)>& advance) {
  if (const Status grammar = check_key(location.key); !grammar) return grammar.error().message;
  HEADRACE_TRY(const auto object, find_object(location, call));
  if (!object) return std::string("missing");
  if (object->size_bytes != part.size_bytes) {
    return concat("has ", object->size_bytes, " bytes; ", part.size_bytes, " were published");
  }
  std::uint32_t crc = 0;
  const Status read = read_in_pieces(*location.store, *object, call, [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    advance(piece.size());
    return {};
  });
  if (!read && (read.error().code == Code::kDataLoss || read.error().code == Code::kFailedPrecondition)) {
    return read.error().message;
  }
  HEADRACE_CHECK(read);
  if (crc != part.crc32c) {
    return concat("was altered: its CRC32C is ", hex32(crc), "; ", hex32(part.crc32c), " was published");
  }
  return std::string();
}

// Adds an entry of ownership if it is damaged. An entry that is gone was superseded meanwhile.
Status check_entry(const Location& folder, std::uint64_t number, const CallOptions& call,
                   PublishedVersions& found) {
  const std::string key = numbered_key(folder.at(kManifestPrefix).key, number);
  const auto read = read_object(*folder.store, key, kManifestLimitBytes, call);
  if (!read) return read.error().code == Code::kNotFound ? Status{} : Status(read.error());
  auto entry = parse_entry(read->data, number);
  if (entry) return {};
  if (entry.error().code != Code::kDataLoss) return std::move(entry).error();
  found.bad.push_back({folder.describe(), std::move(entry).error().in(folder.store->describe(key)).message});
  return {};
}

// Adds one manifest, and its parts that no earlier manifest names. A manifest that cannot be read is bad
// itself, and its parts are unknown.
Status take_manifest(const Location& folder, const ManifestChoice& choice, std::set<std::string>& known,
                     PublishedVersions& found) {
  auto published = read_published(folder, choice);
  const bool is_entry = !published && published.error().code == Code::kInvalidArgument;
  if (is_entry && choice.number) return check_entry(folder, *choice.number, choice.call, found);
  if (!published && published.error().code != Code::kDataLoss) return std::move(published).error();
  if (!published) {
    found.bad.push_back({folder.describe(), published.error().message});
  } else if (*published) {
    PublishedVersion version{.published = std::move(**published)};
    for (const ManifestPart& part : version.published.manifest.parts) {
      if (!known.insert(concat(part.key, "\n", part.size_bytes, " ", part.crc32c)).second) continue;
      version.parts.push_back(part);
      found.bytes += part.size_bytes;
    }
    found.parts += version.parts.size();
    found.versions.push_back(std::move(version));
  }
  return {};
}

// Adds a chain that names missing objects, although all objects of the chain are whole.
Status check_chain(const Location& folder, const ChainState& chain, const CallOptions& call,
                   PublishedVersions& found) {
  const auto current = read_current_manifest(folder, call);
  const Status whole = chain.damage ? Status(*chain.damage) : current ? Status{} : Status(current.error());
  if (whole || whole.error().code != Code::kDataLoss) return whole;
  found.bad.push_back({folder.describe(), whole.error().message});
  return {};
}

Status take_folder(const Location& folder, bool only_latest, const CallOptions& call,
                   PublishedVersions& found) {
  const std::size_t bad_before = found.bad.size();
  HEADRACE_TRY(const ChainState chain, read_chain(folder, call));
  std::vector<std::uint64_t> numbers;
  if (!only_latest) {
    HEADRACE_TRY(numbers, present_numbers(*folder.store, folder.at(kManifestPrefix).key, call));
    // The entry that began the generation counts, too.
    std::erase_if(
        numbers, [&](std::uint64_t number) { return !chain.counts(number) && number != chain.generation(); });
    std::ranges::reverse(numbers);
  }
  std::set<std::string> known;
  if (only_latest) HEADRACE_CHECK(take_manifest(folder, {.call = call}, known, found));
  for (const std::uint64_t number : numbers)
    HEADRACE_CHECK(take_manifest(folder, {.number = number, .call = call}, known, found));
  return found.bad.size() == bad_before ? check_chain(folder, chain, call, found) : Status{};
}

}  // namespace

Result<std::vector<Location>> find_published(const Location& location, const CallOptions& call) {
  std::vector<Location> folders;
  HEADRACE_CHECK(
      location.store->list(folder_prefix(location.key), {.call = call}, [&](const ObjectInfo& object) {
        if (is_manifest_key(object.key)) {
          const std::string key = parent_key(parent_key(object.key));
          if (folders.empty() || folders.back().key != key) {
            Location folder = location;
            folder.key = folder.url.path = key;
            folders.push_back(std::move(folder));
          }
        }
        return !call.stop.stop_requested();
      }));
  HEADRACE_CHECK(check_stop(call.stop, "listing"));
  return folders;
}

Result<PublishedVersions> read_published_versions(const Location& location, bool only_latest,
                                                  const CallOptions& call) {
  PublishedVersions found;
  HEADRACE_TRY(const std::vector<Location> folders, find_published(location, call));
  for (const Location& folder : folders) HEADRACE_CHECK(take_folder(folder, only_latest, call, found));
  if (!found.versions.empty() || !found.bad.empty()) return found;
  HEADRACE_TRY(const auto object, find_object(location, call));
  HEADRACE_TRY(const bool is_there, is_folder(location, call));
  if (!object && !is_there) return nothing_at(location);
  return Error{Code::kNotFound, concat(location.describe(),
                                       " is not published: no manifest lies in it or below, so there is "
                                       "nothing to compare with")};
}

Result<std::vector<BadPart>> verify_parts(const Location& folder, std::span<const ManifestPart> parts,
                                          int jobs, const CallOptions& call,
                                          const std::function<void(std::uint64_t)>& advance) {
  std::vector<std::string> problems(parts.size());
  HEADRACE_CHECK(parallel_for(jobs, parts.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(problems[i], check_part(folder.at(parts[i].key), parts[i], call, advance));
    return {};
  }));
  std::vector<BadPart> bad;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!problems[i].empty()) bad.push_back({folder.at(parts[i].key).describe(), problems[i], parts[i]});
  }
  return bad;
}

}  // namespace headrace
