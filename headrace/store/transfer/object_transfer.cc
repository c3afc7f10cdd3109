#include "headrace/store/transfer/object_transfer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <system_error>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr int kMostRestarts = 3;

// Returns the object with its checksum, if the store has one. Listings contain no checksums; compared with a
// large object, one request costs little.
Result<ObjectInfo> with_checksum(const Location& from, const ObjectInfo& object,
                                 const ObjectTransferOptions& options) {
  if (object.crc32c || (object.size_bytes <= kPieceBytes && !options.verify)) return object;
  HEADRACE_TRY(ObjectInfo now, from.store->stat(from.key, options.write.call));
  return now.version == object.version ? std::move(now) : object;
}

// Reads the pieces of one version of an object in order. The next piece is read while the caller uses the
// last one.
class ReadAhead {
 public:
  ReadAhead(const Location& from, const ObjectInfo& object, const ObjectTransferOptions& options)
      : from_(from), object_(object), call_(options.write.call) {
    for (PooledBuffer& buffer : buffers_) {
      buffer = options.buffers->take(static_cast<std::size_t>(
          std::min<std::uint64_t>(options.piece_bytes, std::max<std::uint64_t>(object.size_bytes, 1))));
    }
    start_next();
  }

  /// Empty at the end. Valid until the next call.
  Result<BytesView> next() {
    if (!reading_.valid()) return BytesView();
    const BytesView piece = piece_;
    HEADRACE_CHECK(reading_.get());
    start_next();
    return piece;
  }

 private:
  void start_next() {
    if (offset_ == object_.size_bytes) return;
    const MutableBytesView buffer = buffers_[turn_].bytes();
    const MutableBytesView target = buffer.first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), object_.size_bytes - offset_)));
    const auto read = [this, target, offset = offset_] {
      return read_exactly(*from_.store, from_.key, target,
                          {.offset_bytes = offset, .if_version = object_.version, .call = call_});
    };
    try {
      reading_ = std::async(std::launch::async, read);
    } catch (const std::system_error&) {  // the system allows no further thread, so `next` reads
      reading_ = std::async(std::launch::deferred, read);
    }
    piece_ = target;
    offset_ += target.size();
    turn_ = 1 - turn_;
  }

  const Location& from_;
  const ObjectInfo& object_;
  const CallOptions call_;
  std::array<PooledBuffer, 2> buffers_;
  std::size_t turn_ = 0;
  std::uint64_t offset_ = 0;
  BytesView piece_;
  std::future<Status> reading_;  // last member: its destructor waits before the buffers are destroyed
};

void advance(const ObjectTransferOptions& options, std::int64_t bytes) {
  if (options.advance) options.advance(bytes);
}

Result<ObjectTransfer> copy_small(const Location& from, const ObjectInfo& object, const Location& to,
                                  const ObjectTransferOptions& options) {
  const PooledBuffer data = options.buffers->take(static_cast<std::size_t>(object.size_bytes));
  HEADRACE_CHECK(read_exactly(*from.store, from.key, data.bytes(),
                              {.if_version = object.version, .is_whole = true, .call = options.write.call}));
  const std::uint32_t crc = crc32c(data.view());
  HEADRACE_CHECK(check_crc32c(*from.store, object, crc));
  HEADRACE_TRY(ObjectInfo target, to.store->write(to.key, data.view(), options.write));
  advance(options, static_cast<std::int64_t>(object.size_bytes));
  return ObjectTransfer{object, std::move(target), crc};
}

Result<ObjectTransfer> copy_large(const Location& from, const ObjectInfo& object, const Location& to,
                                  const ObjectTransferOptions& options) {
  HEADRACE_TRY(const std::unique_ptr<Upload> upload, to.store->start_upload(to.key, options.write));
  std::int64_t copied = 0;
  std::uint32_t crc = 0;
  const auto copy_piece = [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    while (!piece.empty()) {  // in slices, so that a stop and the progress take effect soon
      if (options.write.call.stop.stop_requested())
        return Error{Code::kCancelled, concat("copying ", from.describe(), " was stopped")};
      const BytesView slice = piece.first(std::min(piece.size(), kPieceBytes));
      HEADRACE_CHECK(upload->append(slice));
      copied += static_cast<std::int64_t>(slice.size());
      advance(options, static_cast<std::int64_t>(slice.size()));
      piece = piece.subspan(slice.size());
    }
    return {};
  };
  const auto copy_pieces = [&]() -> Status {
    ReadAhead pieces(from, object, options);
    while (true) {
      HEADRACE_TRY(const BytesView piece, pieces.next());
      if (piece.empty()) return check_crc32c(*from.store, object, crc);
      HEADRACE_CHECK(copy_piece(piece));
    }
  };
  Result<ObjectInfo> target = ObjectInfo();
  if (Status read = copy_pieces(); !read) {
    target = std::move(read).error();
  } else {
    target = upload->commit();
  }
  if (target) return ObjectTransfer{object, *std::move(target), crc};
  advance(options, -copied);
  return std::move(target).error();
}

Result<ObjectTransfer> copy_inside(const Location& from, const ObjectInfo& object, const Location& to,
                                   const ObjectTransferOptions& options) {
  ObjectTransfer done;
  HEADRACE_TRY(done.target, from.store->copy(from.key, to.key, options.write));
  const Result<ObjectInfo> now = from.store->stat(from.key, options.write.call);
  if (now && now->version == object.version) done.source = object;
  advance(options, static_cast<std::int64_t>(object.size_bytes));
  return done;
}

Result<std::uint32_t> crc32c_of(const Location& place, const ObjectInfo& object, const CallOptions& call) {
  std::uint32_t crc = 0;
  ObjectInfo version = object;
  version.key = place.key;
  HEADRACE_CHECK(read_in_pieces(*place.store, version, call, [&](BytesView piece) -> Status {
    crc = crc32c(piece, crc);
    return {};
  }));
  return crc;
}

Status verify_copy(const Location& from, const ObjectInfo& object, const Location& to,
                   const ObjectTransfer& done, const CallOptions& call) {
  std::uint32_t expected = 0;
  if (done.crc32c) {
    expected = *done.crc32c;
  } else {
    HEADRACE_TRY(expected, crc32c_of(from, done.source.value_or(object), call));
  }
  HEADRACE_TRY(const std::uint32_t found, crc32c_of(to, done.target, call));
  if (found == expected) return {};
  return Error{Code::kDataLoss,
               concat(to.describe(), ": read again, its CRC32C is ", hex32(found), " instead of ",
                      hex32(expected), "; copy it again, and check memory ", "and disk if it happens again")};
}

Result<ObjectTransfer> transfer_once(const Location& from, const ObjectInfo& object, const Location& to,
                                     const ObjectTransferOptions& options) {
  const auto copy = copies_inside(from, to)            ? copy_inside
                    : object.size_bytes <= kPieceBytes ? copy_small
                                                       : copy_large;
  HEADRACE_TRY(ObjectTransfer done, copy(from, object, to, options));
  if (options.verify) HEADRACE_CHECK(verify_copy(from, object, to, done, options.write.call));
  return done;
}

}  // namespace

bool is_same_store(const Location& a, const Location& b) {
  return a.url.scheme == b.url.scheme && a.url.authority == b.url.authority;
}

bool copies_inside(const Location& from, const Location& to) {
  return is_same_store(from, to) && from.url.query == to.url.query &&
         from.store->capabilities().server_side_copy;
}

Result<ObjectTransfer> transfer_object(const Location& from, const ObjectInfo& object, const Location& to,
                                       const ObjectTransferOptions& options) {
  HEADRACE_TRY(ObjectInfo source, with_checksum(from, object, options));
  source.key = from.key;
  for (int restarts = 0;; ++restarts) {
    Result<ObjectTransfer> done = transfer_once(from, source, to, options);
    // A continued upload may have been removed meanwhile; then it starts again.
    const bool upload_is_gone = !done && done.error().code == Code::kAborted && options.write.resumes;
    if (upload_is_gone && restarts < kMostRestarts) continue;
    if (done || done.error().code != Code::kFailedPrecondition) return done;
    HEADRACE_TRY(ObjectInfo now, from.store->stat(from.key, options.write.call));
    if (now.version == source.version) return done;  // the source has not changed
    if (restarts == kMostRestarts) {
      return Error{
          Code::kFailedPrecondition,
          concat(from.describe(), " keeps changing while it is copied; copy it when nobody writes to it")};
    }
    source = std::move(now);
  }
}

Result<bool> have_same_content(const Location& a, const ObjectInfo& of_a, const Location& b,
                               const ObjectInfo& of_b, const ObjectTransferOptions& options) {
  std::int64_t compared = 0;
  const auto compare = [&]() -> Result<bool> {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(of_a.size_bytes, kPieceBytes));
    const PooledBuffer ours = options.buffers->take(size), theirs = options.buffers->take(size);
    const CallOptions& call = options.write.call;
    for (std::uint64_t offset = 0; offset < of_a.size_bytes; offset += size) {
      if (call.stop.stop_requested())
        return Error{Code::kCancelled, concat("comparing ", a.describe(), " was stopped")};
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, of_a.size_bytes - offset));
      const MutableBytesView piece_of_a = ours.bytes().first(wanted),
                             piece_of_b = theirs.bytes().first(wanted);
      HEADRACE_CHECK(read_exactly(*a.store, a.key, piece_of_a,
                                  {.offset_bytes = offset, .if_version = of_a.version, .call = call}));
      HEADRACE_CHECK(read_exactly(*b.store, b.key, piece_of_b,
                                  {.offset_bytes = offset, .if_version = of_b.version, .call = call}));
      if (std::memcmp(piece_of_a.data(), piece_of_b.data(), wanted) != 0) return false;
      compared += static_cast<std::int64_t>(wanted);
      advance(options, static_cast<std::int64_t>(wanted));
    }
    return true;
  };
  if (of_a.size_bytes != of_b.size_bytes) return false;
  const Result<bool> same = compare();
  if (!same || !*same) advance(options, -compared);
  return same;
}

}  // namespace headrace
