#pragma once

/// \file The one interface that a store driver implements. The model driver to read first: store/memory/.
///
/// A store is a flat map from keys to whole, immutable objects: writing replaces an object, nothing changes
/// one in place, and "a/b" has no parent that could be created or removed. Key grammar, for every driver:
/// that of base/key.h; and no key is a folder of another ("a" beside "a/b" is refused where the driver can
/// see it).

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/key.h"
#include "headrace/base/result.h"

namespace headrace {

/// Opaque version of one object: an ETag, a generation, an inode with its times. Compare for equality only.
struct Version {
  std::string token;
  bool operator==(const Version&) const = default;
};

/// `deadline` bounds the time without progress of every call; `stop` ends it early with Code::kCancelled.
struct CallOptions {
  std::chrono::milliseconds deadline{30'000};
  std::stop_token stop{};
};

struct ReadOptions {
  std::uint64_t offset_bytes = 0;
  /// Read only this version of the object.
  std::optional<Version> if_version{};
  /// The caller wants the whole object: a driver may then compare the bytes with the store's checksum. If the
  /// object does not fit into the target, the driver may read nothing and only return its size. Requires
  /// offset 0.
  bool is_whole = false;
  CallOptions call{};
};

struct WriteOptions {
  /// Create, never replace.
  bool only_if_absent = false;
  /// Replace only this version.
  std::optional<Version> if_version{};
  /// False: the object need not survive a power failure; afterwards it may be missing or have any content.
  /// For data that carry a checksum and can be fetched again; some drivers are faster then.
  bool is_durable = true;
  /// True: the object may be large and is not read soon. Drivers that can, leave the system's caches to other
  /// data, which takes half of the CPU time.
  bool past_caches = false;
  /// For `start_upload`: parts that an earlier such upload of this key from this machine has sent, and never
  /// finished, are not sent again if they have the same bytes. If this upload ends without `commit`, its
  /// parts may stay for the next, as an unfinished write. Drivers that cannot do this start from the
  /// beginning.
  bool resumes = false;
  CallOptions call{};
};

struct ListOptions {
  /// List only keys after this one; resumes a listing.
  std::string after{};
  /// Stop at the next '/' past the prefix: deeper keys are reported once, as a folder whose key ends in '/'.
  bool collapse_folders = false;
  CallOptions call{};
};

struct ObjectInfo {
  std::string key;
  std::uint64_t size_bytes = 0;
  Version version{};
  /// Time of the last write, if the store reports it.
  std::optional<std::chrono::system_clock::time_point> modified{};
  /// CRC32C of the whole content, if the store has kept one; not in listings.
  std::optional<std::uint32_t> crc32c{};

  bool is_folder() const { return key.ends_with('/'); }
};

struct ReadResult {
  std::size_t bytes_read = 0;
  /// Describes the whole object, not the range.
  ObjectInfo object{};
};

/// One range of one object, for `read_many`; it has `target.size()` bytes.
struct ReadRequest {
  std::string key;
  std::uint64_t offset_bytes = 0;
  MutableBytesView target{};
  std::optional<Version> if_version{};
};

/// The sent part of an object that does not exist yet: it is being written, or its writer was killed.
struct UnfinishedWrite {
  /// Key of the object or, if the store does not know it, of the bytes in the meantime.
  std::string key;
  /// Distinguishes several unfinished writes of one key; empty if `key` does.
  std::string id{};
  /// When it last grew, or was begun if it has no bytes yet; none if the store does not report it.
  std::optional<std::chrono::system_clock::time_point> modified{};
  /// None if the store does not report it.
  std::optional<std::uint64_t> size_bytes{};
};

/// Positive promises only: a driver that forgets one is slower, never wrong.
struct Capabilities {
  bool atomic_if_absent = false;   // of several writers with only_if_absent, exactly one wins
  bool atomic_if_version = false;  // if_version on writes is honoured
  bool strong_list = false;        // a list shows every write that has returned
  bool latest_only = false;        // a read of a version that was replaced is refused; else it may be had
  bool server_side_copy = false;   // `copy` moves no data through this process
  bool keeps_ranges = false;       // what was read of a version is near, if just that range is read again
};

/// How often a driver did something since it was opened. Names are Prometheus': "requests_total".
struct StoreCounter {
  std::string name;
  std::string help;
  std::uint64_t value = 0;
};

/// An object that is being written in pieces. Not thread-safe. Destruction without `commit` leaves the old
/// object in place and frees the sent bytes (but see WriteOptions::resumes).
class Upload {
 public:
  virtual ~Upload() = default;
  /// Appends; borrows `data` until it returns.
  virtual Status append(BytesView data) = 0;
  /// Makes the object visible, whole; honours the WriteOptions it was started with. Call at most once.
  /// \error kAlreadyExists, kFailedPrecondition  as for `Store::write`
  virtual Result<ObjectInfo> commit() = 0;
};

/// Thread-safe: every method may be called from any thread. Calls block; concurrency is the caller's.
/// Drivers repeat single requests where the protocol calls for it, but neither retry whole calls nor log.
/// Every error message names the object as `describe` does.
class Store {
 public:
  virtual ~Store() = default;

  /// Reads min(target.size(), bytes from the offset to the end), never a mixture of two versions. A short
  /// count means the end of the object (but see ReadOptions::is_whole).
  /// \error kNotFound            no such object: an ordinary answer, never retried
  /// \error kFailedPrecondition  `if_version` no longer holds (but see Capabilities::latest_only)
  /// \error kOutOfRange          the offset lies past the end (the end itself is allowed: zero bytes)
  /// \error kDataLoss            `is_whole`, and the store's checksum is of other bytes
  virtual Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                                       const ReadOptions& options) = 0;

  /// Fills every target, or fails naming the first request that could not be met in full (kDataLoss if an
  /// object is shorter than asked). The default is a loop; drivers that can overlap requests do.
  virtual Status read_many(std::span<const ReadRequest> requests, const CallOptions& options);

  /// \error kNotFound
  virtual Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) = 0;

  /// Writes a whole object, atomically: readers see the old one or the new one. Borrows `data` until it
  /// returns.
  /// \error kAlreadyExists       `only_if_absent`, and it is there
  /// \error kFailedPrecondition  `if_version` no longer holds
  virtual Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) = 0;

  /// For objects that do not fit in memory.
  virtual Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) = 0;

  /// Copies within the store, atomically as `write`.
  /// \error kNotFound  no source
  virtual Result<ObjectInfo> copy(std::string_view from, std::string_view to,
                                  const WriteOptions& options) = 0;

  /// Missing objects are not errors.
  virtual Status remove_many(std::span<const std::string> keys, const CallOptions& options) = 0;

  /// Calls `visit` in ascending byte order of keys until it returns false.
  /// A prefix is text, not a folder: "a" also lists "ab".
  virtual Status list(std::string_view prefix, const ListOptions& options,
                      const std::function<bool(const ObjectInfo&)>& visit) = 0;

  /// Calls `visit` for unfinished writes whose key has that prefix, in no particular order, until it returns
  /// false. Listings of objects do not show them, yet they take room. A driver may leave something behind
  /// that it cannot list; its header says what.
  virtual Status list_unfinished(std::string_view prefix, const CallOptions& options,
                                 const std::function<bool(const UnfinishedWrite&)>& visit) = 0;

  /// Removes the sent bytes. If the write still goes on, it fails. A missing write is not an error.
  virtual Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) = 0;

  virtual Capabilities capabilities() const = 0;

  /// The driver's counters of its exchange with the server; empty if it has no server.
  virtual std::vector<StoreCounter> counters() const { return {}; }

  /// Names a key for people, as in "s3://bucket/a/b"; holds no secret. An empty key names the store's root.
  virtual std::string describe(std::string_view key) const = 0;
};

// Conveniences, each made of a few of the calls above.

struct ReadObject {
  Bytes data;
  ObjectInfo object;
};
/// The whole object, checked against the store's CRC32C if there is one.
/// \error kResourceExhausted  it is larger than `limit_bytes`
/// \error kDataLoss           it ends early, or its bytes do not match the CRC32C
Result<ReadObject> read_object(Store& store, std::string_view key, std::uint64_t limit_bytes,
                               const CallOptions& options = {});
/// \error kDataLoss  `object` has a CRC32C, and the bytes read have another
Status check_crc32c(const Store& store, const ObjectInfo& object, std::uint32_t of_what_was_read);

/// Reads the version that `object` describes front to back, in pieces of at most `kPieceBytes`, and passes
/// each to `visit`: `size_bytes` from the offset on, or all of it. If all of it is read and `object` has a
/// CRC32C, the bytes are compared with it at the end.
/// \error kDataLoss   it ends early, or its bytes do not match the CRC32C
/// \error kCancelled  `options.stop` was requested
/// \error whatever `visit` returns
inline constexpr std::size_t kPieceBytes = 8 << 20;
Status read_in_pieces(Store& store, const ObjectInfo& object, std::uint64_t offset_bytes,
                      std::uint64_t size_bytes, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit);
Status read_in_pieces(Store& store, const ObjectInfo& object, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit);
/// Exactly `target.size()` bytes.
/// \error kDataLoss  the object ends before
Status read_exactly(Store& store, std::string_view key, MutableBytesView target, const ReadOptions& options);
Result<ObjectInfo> write_text(Store& store, std::string_view key, std::string_view text,
                              const WriteOptions& options = {});
Result<std::vector<ObjectInfo>> list_all(Store& store, std::string_view prefix,
                                         const ListOptions& options = {});
Result<std::vector<UnfinishedWrite>> list_all_unfinished(Store& store, std::string_view prefix,
                                                         const CallOptions& options = {});
Status remove_object(Store& store, std::string_view key, const CallOptions& options = {});

}  // namespace headrace
