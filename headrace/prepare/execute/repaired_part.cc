#include "headrace/prepare/execute/repaired_part.h"

#include <memory>
#include <optional>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/coordinate/chain.h"

namespace headrace {
namespace {

struct Content {
  std::uint64_t size_bytes = 0;
  std::uint32_t crc32c = 0;
};

Result<Content> content_of(const Location& place, const ObjectInfo& object, const CallOptions& call) {
  Content content{.size_bytes = object.size_bytes};
  HEADRACE_CHECK(read_in_pieces(*place.store, object, call, [&](BytesView piece) -> Status {
    content.crc32c = headrace::crc32c(piece, content.crc32c);
    return {};
  }));
  return content;
}

bool is_same(const ManifestPart& part, const Content& content) {
  return content.size_bytes == part.size_bytes && content.crc32c == part.crc32c;
}

// Whether the part exists and is undamaged. Sets `object` to the object at its place, or to none if there is
// no object.
Result<bool> is_whole(const Location& place, const ManifestPart& part, const CallOptions& call,
                      std::optional<ObjectInfo>& object) {
  object.reset();
  auto found = place.store->stat(place.key, call);
  if (!found && found.error().code == Code::kNotFound) return false;
  if (!found) return std::move(found).error();
  object = *std::move(found);
  if (object->size_bytes != part.size_bytes) return false;
  const auto content = content_of(place, *object, call);
  if (!content && content.error().code == Code::kDataLoss) return false;
  if (!content) return content.error();
  return is_same(part, *content);
}

Status copy_to(const Location& made, const ObjectInfo& object, const Location& place,
               const WriteOptions& options) {
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, place.store->start_upload(place.key, options));
  HEADRACE_CHECK(read_in_pieces(*made.store, object, options.call,
                                [&](BytesView piece) { return upload->append(piece); }));
  const auto done = upload->commit();
  return done ? Status{} : Status(done.error());
}

// Whether the parts of a version are kept: it belongs to the present generation, or the generation that
// overwrites it is not published yet.
Result<bool> is_kept(const PublishedFolder& version) {
  HEADRACE_TRY(const ChainState chain, read_chain(version.folder));
  const bool is_being_overwritten = chain.published > 0 && chain.published < chain.generation();
  return chain.damage || version.number > chain.generation() || is_being_overwritten;
}

}  // namespace

Status check_part(const ManifestPart& part, std::uint64_t size_bytes, std::uint32_t crc32c) {
  if (is_same(part, {size_bytes, crc32c})) return {};
  return Error{Code::kFailedPrecondition,
               concat("the repaired part has ", size_bytes, " bytes and the CRC32C ", hex32(crc32c),
                      ", but the published part has ", part.size_bytes, " bytes and the CRC32C ",
                      hex32(part.crc32c), ": its sources have changed since")};
}

Status put_part(const Location& made, const ManifestPart& part, const PublishedFolder& version,
                const std::stop_token& stop) {
  const CallOptions call{.stop = stop};
  HEADRACE_CHECK(check_key(part.key));  // it came from a store
  const auto object = made.store->stat(made.key, call);
  if (!object && object.error().code == Code::kNotFound) {
    return Error{Code::kFailedPrecondition,
                 "its plan no longer makes this part: its sources have changed since"};
  }
  if (!object) return object.error();
  HEADRACE_TRY(const Content content, content_of(made, *object, call));
  HEADRACE_CHECK(check_part(part, content.size_bytes, content.crc32c));

  const Location place = version.folder.at(part.key);
  std::optional<ObjectInfo> there;
  HEADRACE_TRY(bool whole, is_whole(place, part, call, there));
  if (whole) return {};  // another process has repaired it meanwhile
  WriteOptions options{.only_if_absent = !there, .past_caches = true, .call = call};
  if (there && place.store->capabilities().atomic_if_version) options.if_version = there->version;
  const Status written = copy_to(made, *object, place, options);
  if (!written) {
    const bool was_faster =
        written.error().code == Code::kAlreadyExists || written.error().code == Code::kFailedPrecondition;
    if (!was_faster) return written;
    HEADRACE_TRY(whole, is_whole(place, part, call, there));
    return whole ? Status{} : written;
  }
  HEADRACE_TRY(const bool kept, is_kept(version));
  if (kept) return {};
  HEADRACE_CHECK(remove_object(*place.store, place.key));
  return Error{Code::kAborted, concat(version.folder.describe(), " was overwritten or removed meanwhile; ",
                                      "the repaired part ", place.describe(), " was removed")};
}

}  // namespace headrace
