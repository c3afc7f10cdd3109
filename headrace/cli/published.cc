#include "headrace/cli/published.h"

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

// Describes what is wrong with the part; empty: nothing.
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

Result<std::vector<BadPart>> verify_parts(const PublishedFolder& published, int jobs, const CallOptions& call,
                                          const std::function<void(std::uint64_t)>& advance) {
  const std::vector<ManifestPart>& parts = published.manifest.parts;
  std::vector<std::string> problems(parts.size());
  HEADRACE_CHECK(parallel_for(jobs, parts.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(problems[i], check_part(published.folder.at(parts[i].key), parts[i], call, advance));
    return {};
  }));
  std::vector<BadPart> bad;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!problems[i].empty()) bad.push_back({published.folder.at(parts[i].key).describe(), problems[i]});
  }
  return bad;
}

}  // namespace headrace
