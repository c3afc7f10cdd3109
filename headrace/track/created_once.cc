#include "headrace/track/created_once.h"

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

Result<std::uint32_t> crc32c_of(Store& store, const ObjectInfo& object) {
  if (object.crc32c) return *object.crc32c;
  std::uint32_t crc = 0;
  HEADRACE_CHECK(read_in_pieces(store, object, {}, [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    return {};
  }));
  return crc;
}

// Compares the existing object with the one that was to be created.
Status check_same(const Location& object, std::uint64_t size_bytes, std::uint32_t crc) {
  HEADRACE_TRY(const ObjectInfo there, object.store->stat(object.key, {}));
  std::string found = concat(there.size_bytes, " bytes instead of ", size_bytes);
  if (there.size_bytes == size_bytes) {
    HEADRACE_TRY(const std::uint32_t crc_there, crc32c_of(*object.store, there));
    if (crc_there == crc) return {};
    found = concat("the checksum ", hex32(crc_there), " instead of ", hex32(crc));
  }
  return Error{Code::kFailedPrecondition,
               concat(object.describe(), " already exists, with ", found,
                      ": the input has changed since then, or the object is damaged. Remove it, or start "
                      "over with --overwrite, and run the same command again")};
}

// Accepts an existing object if it has the same bytes. `created` is the result of a conditional write.
Status accept_same(const Result<ObjectInfo>& created, const Location& object, std::uint64_t size_bytes,
                   std::uint32_t crc) {
  if (created) return {};
  if (created.error().code != Code::kAlreadyExists) return created.error();
  return check_same(object, size_bytes, crc);
}

}  // namespace

Status check_size(const Location& object, std::uint64_t size_bytes, const SizeLimit& limit) {
  if (size_bytes <= limit.bytes) return {};
  return Error{Code::kInvalidArgument,
               concat(object.describe(), " would have ", format_size(size_bytes), ", more than the ",
                      format_size(limit.bytes), " that readers accept; ", limit.what_to_do)};
}

Status create_once(const Location& object, BytesView data) {
  return accept_same(object.store->write(object.key, data, {.only_if_absent = true}), object, data.size(),
                     crc32c(data));
}

Status write_unless_same(const Location& object, BytesView data) {
  Status created = create_once(object, data);
  if (created || created.error().code != Code::kFailedPrecondition) return created;
  const auto replaced = object.store->write(object.key, data, {});
  return replaced ? Status{} : Status(replaced.error());
}

Status copy_once(const Location& from, const Location& to, std::uint64_t size_bytes, std::uint32_t crc) {
  return accept_same(to.store->copy(from.key, to.key, {.only_if_absent = true}), to, size_bytes, crc);
}

Result<OnceUpload> OnceUpload::start(const Location& object, WriteOptions options) {
  options.only_if_absent = true;
  HEADRACE_TRY(std::unique_ptr<Upload> upload, object.store->start_upload(object.key, options));
  return OnceUpload(object, std::move(upload));
}

Status OnceUpload::append(BytesView data) {
  size_bytes_ += data.size();
  crc32c_ = headrace::crc32c(data, crc32c_);
  return upload_->append(data);
}

Status OnceUpload::finish() { return accept_same(upload_->commit(), object_, size_bytes_, crc32c_); }

}  // namespace headrace
