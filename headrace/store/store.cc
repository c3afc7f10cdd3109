#include "headrace/store/store.h"

#include <algorithm>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
Status check_crc32c(const Store& store, const ObjectInfo& object, std::uint32_t actual_crc32c) {
  if (!object.crc32c || *object.crc32c == actual_crc32c) return {};
  return Error{Code::kDataLoss,
               concat(store.describe(object.key), ": the bytes read have the CRC32C ", hex32(actual_crc32c),
                      ", but the store has ", hex32(*object.crc32c), "; the object is damaged")};
}

Status Store::read_many(std::span<const ReadRequest> requests, const CallOptions& options) {
  for (const ReadRequest& request : requests) {
    HEADRACE_CHECK(read_exactly(
        *this, request.key, request.target,
        {.offset_bytes = request.offset_bytes, .if_version = request.if_version, .call = options}));
  }
  return {};
}

Result<ReadObject> read_object(Store& store, std::string_view key, std::uint64_t limit_bytes,
                               const CallOptions& options) {
  HEADRACE_TRY(const ObjectInfo found, store.stat(key, options));
  if (found.size_bytes > limit_bytes) {
    return Error{Code::kResourceExhausted,
                 concat(store.describe(key), " has ", format_size(found.size_bytes), ", more than the ",
                        format_size(limit_bytes), " allowed for an object of this kind")};
  }
  ReadObject out;
  out.data.resize(found.size_bytes);
  HEADRACE_TRY(ReadResult read,
               store.read_into(key, out.data, {.if_version = found.version, .call = options}));
  if (read.bytes_read != out.data.size()) {
    return Error{Code::kDataLoss, concat(store.describe(key), " ended after ", read.bytes_read, " of ",
                                         out.data.size(), " bytes")};
  }
  HEADRACE_CHECK(check_crc32c(store, found, crc32c(out.data)));
  out.object = std::move(read.object);
  return out;
}

Status read_in_pieces(Store& store, const ObjectInfo& object, std::uint64_t offset_bytes,
                      std::uint64_t size_bytes, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit) {
  Bytes buffer(std::min<std::uint64_t>(kPieceBytes, size_bytes));
  const bool is_checked = object.crc32c && offset_bytes == 0 && size_bytes == object.size_bytes;
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size_bytes;) {
    if (options.stop.stop_requested())
      return Error{Code::kCancelled, concat("reading ", store.describe(object.key), " was stopped")};
    const std::uint64_t wanted = std::min<std::uint64_t>(buffer.size(), size_bytes - done);
    const MutableBytesView piece = MutableBytesView(buffer).first(static_cast<std::size_t>(wanted));
    HEADRACE_CHECK(
        read_exactly(store, object.key, piece,
                     {.offset_bytes = offset_bytes + done, .if_version = object.version, .call = options}));
    if (is_checked) crc = crc32c(piece, crc);
    HEADRACE_CHECK(visit(piece));
    done += wanted;
  }
  return is_checked ? check_crc32c(store, object, crc) : Status();
}

Status read_in_pieces(Store& store, const ObjectInfo& object, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit) {
  return read_in_pieces(store, object, 0, object.size_bytes, options, visit);
}

Status read_exactly(Store& store, std::string_view key, MutableBytesView target, const ReadOptions& options) {
  HEADRACE_TRY(const ReadResult read, store.read_into(key, target, options));
  if (read.bytes_read != target.size()) {
    return Error{Code::kDataLoss,
                 concat(store.describe(key), " ends at byte ", read.object.size_bytes, ", but ",
                        target.size(), " bytes are needed from offset ", options.offset_bytes)};
  }
  return {};
}

Result<ObjectInfo> write_text(Store& store, std::string_view key, std::string_view text,
                              const WriteOptions& options) {
  return store.write(key, as_bytes(text), options);
}

Result<std::vector<ObjectInfo>> list_all(Store& store, std::string_view prefix, const ListOptions& options) {
  std::vector<ObjectInfo> objects;
  HEADRACE_CHECK(store.list(prefix, options, [&](const ObjectInfo& object) {
    objects.push_back(object);
    return true;
  }));
  return objects;
}

Result<std::vector<UnfinishedWrite>> list_all_unfinished(Store& store, std::string_view prefix,
                                                         const CallOptions& options) {
  std::vector<UnfinishedWrite> writes;
  HEADRACE_CHECK(store.list_unfinished(prefix, options, [&](const UnfinishedWrite& write) {
    writes.push_back(write);
    return true;
  }));
  return writes;
}

Status remove_object(Store& store, std::string_view key, const CallOptions& options) {
  const std::string name(key);
  return store.remove_many({&name, 1}, options);
}

}  // namespace headrace
