#pragma once

/// \file The one interface that a store driver implements. Read the driver in store/memory/ first: it is the
/// model for all others.
///
/// A store is a flat map from keys to whole, immutable objects. Writing replaces an object; nothing changes
/// an object in place. "a/b" has no parent that could be created or removed. Every driver uses the key
/// grammar of base/key.h. In addition, no key may be a folder of another: a driver that can detect "a"
/// beside "a/b" refuses it.

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

/// Opaque version of one object: an ETag, a generation, or an inode with its times. Compare versions for
/// equality only.
struct Version {
  std::string token;
  bool operator==(const Version&) const = default;
};

/// `deadline` limits how long a call may go on without progress. A stop request on `stop` ends the call early
/// with Code::kCancelled.
struct CallOptions {
  std::chrono::milliseconds deadline{30'000};
  std::stop_token stop{};
};

struct ReadOptions {
  std::uint64_t offset_bytes = 0;
  /// Read only this version of the object.
  std::optional<Version> if_version{};
  /// The caller wants the whole object. The driver may then compare the bytes with the store's checksum. If
  /// the object does not fit into the target, the driver may read nothing and return only the object's size.
  /// REQUIRES: `offset_bytes` is 0.
  bool is_whole = false;
  CallOptions call{};
};

struct WriteOptions {
  /// Create, never replace.
  bool only_if_absent = false;
  /// Replace only this version.
  std::optional<Version> if_version{};
  /// False: the object need not survive a power failure. Afterwards it may be missing or have any content.
  /// Some drivers are faster then. Use it for data that carry a checksum and can be fetched again.
  bool is_durable = true;
  /// True: the object may be large and is not read soon. Drivers that can do so bypass the system's caches,
  /// which keeps other data cached and takes half of the CPU time.
  bool past_caches = false;
  /// For `start_upload`: resume an earlier upload of this key that this machine started with `resumes` and
  /// never finished. Parts that have the same bytes are not sent again. If this upload ends without `commit`,
  /// its parts may stay for the next upload, as an unfinished write. Drivers that cannot resume start from
  /// the beginning.
  bool resumes = false;
  CallOptions call{};
};

struct ListOptions {
  /// List only keys after this one, to resume a listing. Empty: list from the first key.
  std::string after{};
  /// Stop at the next '/' after the prefix. All deeper keys are reported together, as one folder whose key
  /// ends in '/'.
  bool collapse_folders = false;
  CallOptions call{};
};

struct ObjectInfo {
  std::string key;
  std::uint64_t size_bytes = 0;
  Version version{};
  /// Time of the last write, if the store reports it.
  std::optional<std::chrono::system_clock::time_point> modified{};
  /// CRC32C of the whole content, if the store keeps one. Listings do not set it.
  std::optional<std::uint32_t> crc32c{};

  bool is_folder() const { return key.ends_with('/'); }
};

struct ReadResult {
  std::size_t bytes_read = 0;
  /// Describes the whole object, not the range.
  ObjectInfo object{};
};

/// One range of one object, for `read_many`. The range has `target.size()` bytes.
struct ReadRequest {
  std::string key;
  std::uint64_t offset_bytes = 0;
  MutableBytesView target{};
  std::optional<Version> if_version{};
};

/// The bytes sent so far for an object that does not exist yet. Either the object is still being written, or
/// its writer was killed.
struct UnfinishedWrite {
  /// Key of the object. If the store does not know that key: the temporary key of the bytes.
  std::string key;
  /// Distinguishes several unfinished writes of one key. Empty if `key` alone identifies the write.
  std::string id{};
  /// When the write last grew, or when it began if it has no bytes yet. None if the store does not report it.
  std::optional<std::chrono::system_clock::time_point> modified{};
  /// None if the store does not report it.
  std::optional<std::uint64_t> size_bytes{};
};

/// Positive promises only: a driver that does not set one is slower, never wrong.
struct Capabilities {
  bool atomic_if_absent = false;   // if several writers use only_if_absent, exactly one wins
  bool atomic_if_version = false;  // if_version on writes is honoured
  bool strong_list = false;        // a list shows every write that has returned
  bool latest_only = false;        // a read of a replaced version is refused; if false, it may succeed
  bool server_side_copy = false;   // `copy` moves no data through this process
  bool keeps_ranges = false;       // reading the same range of the same version again is cheap
};

/// How often a driver did something since it was opened. Names follow Prometheus: "requests_total".
struct StoreCounter {
  std::string name;
  std::string help;
  std::uint64_t value = 0;
};

/// An object that is being written in pieces. Not thread-safe. Destruction without `commit` leaves the old
/// object in place and removes the bytes that were sent (but see WriteOptions::resumes).
class Upload {
 public:
  virtual ~Upload() = default;
  /// Appends `data`, which is borrowed until the call returns.
  virtual Status append(BytesView data) = 0;
  /// Makes the whole object visible, and honours the WriteOptions of `start_upload`. Call at most once.
  /// \error kAlreadyExists, kFailedPrecondition  as for `Store::write`
  virtual Result<ObjectInfo> commit() = 0;
};

/// Thread-safe: every method may be called from any thread. Calls block; callers that want concurrency use
/// threads. Drivers retry single requests where the protocol calls for it. They neither retry whole calls nor
/// log. Every error message names the object as `describe` does.
class Store {
 public:
  virtual ~Store() = default;

  /// Reads from the offset until `target` is full or the object ends, never a mixture of two versions. Fewer
  /// bytes than `target.size()` mean that the object has ended (but see ReadOptions::is_whole).
  /// \error kNotFound            there is no such object: an ordinary answer, never retried
  /// \error kFailedPrecondition  the object no longer has `if_version` (but see Capabilities::latest_only)
  /// \error kOutOfRange          the offset lies past the end (the end itself is allowed: zero bytes)
  /// \error kDataLoss            `is_whole` is set, and the bytes do not match the store's checksum
  virtual Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                                       const ReadOptions& options) = 0;

  /// Fills every target. On failure, the message names the first request that could not be met in full. The
  /// default implementation is a loop; drivers that can overlap requests do so.
  /// \error kDataLoss  an object ends before the requested range does
  /// \error            as for `read_into`
  virtual Status read_many(std::span<const ReadRequest> requests, const CallOptions& options);

  /// Describes the object, without reading its content.
  /// \error kNotFound  there is no such object
  virtual Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) = 0;

  /// Writes a whole object atomically: readers see the old object or the new one. Borrows `data` until the
  /// call returns.
  /// \error kAlreadyExists       `only_if_absent` is set, and the object exists
  /// \error kFailedPrecondition  the object no longer has `if_version`
  virtual Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) = 0;

  /// Starts to write an object in pieces. Use it for objects that do not fit in memory.
  virtual Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) = 0;

  /// Copies an object within the store, as atomically as `write` does.
  /// \error kNotFound  `from` does not exist
  /// \error            as for `write`
  virtual Result<ObjectInfo> copy(std::string_view from, std::string_view to,
                                  const WriteOptions& options) = 0;

  /// Removes the objects. A missing object is not an error.
  virtual Status remove_many(std::span<const std::string> keys, const CallOptions& options) = 0;

  /// Calls `visit` with every object whose key begins with `prefix`, in ascending byte order of keys, until
  /// `visit` returns false. A prefix is text, not a folder: "a" also lists "ab".
  virtual Status list(std::string_view prefix, const ListOptions& options,
                      const std::function<bool(const ObjectInfo&)>& visit) = 0;

  /// Calls `visit` with every unfinished write whose key begins with `prefix`, in no particular order, until
  /// `visit` returns false. `list` does not show unfinished writes, yet they take up space. A driver may
  /// leave something behind that it cannot list; its header then says so.
  virtual Status list_unfinished(std::string_view prefix, const CallOptions& options,
                                 const std::function<bool(const UnfinishedWrite&)>& visit) = 0;

  /// Removes the bytes of an unfinished write. If its writer is still at work, that writer's call fails. A
  /// missing write is not an error.
  virtual Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) = 0;

  virtual Capabilities capabilities() const = 0;

  /// Counts the driver's exchanges with its server. Empty if the driver has no server.
  virtual std::vector<StoreCounter> counters() const { return {}; }

  /// Names a key for people, as in "s3://bucket/a/b". The text contains no secret. An empty key names the
  /// store's root.
  virtual std::string describe(std::string_view key) const = 0;
};

// Convenience functions, each made of a few of the calls above. They also return the errors of those calls.

struct ReadObject {
  Bytes data;
  ObjectInfo object;
};
/// Reads the whole object, and checks it against the store's CRC32C if there is one. Cost: a stat and a read.
/// \error kResourceExhausted  the object is larger than `limit_bytes`
/// \error kDataLoss           the object ends early, or its bytes do not match the CRC32C
Result<ReadObject> read_object(Store& store, std::string_view key, std::uint64_t limit_bytes,
                               const CallOptions& options = {});
/// Compares the CRC32C of the bytes that were read with the one in `object`. Succeeds if `object` has none.
/// \error kDataLoss  they differ
Status check_crc32c(const Store& store, const ObjectInfo& object, std::uint32_t actual_crc32c);

/// Reads the version that `object` describes, in pieces of at most `kPieceBytes` and in order, and passes
/// each piece to `visit`. Reads `size_bytes` bytes from `offset_bytes` on, or the whole object. If the whole
/// object is read and `object` has a CRC32C, the bytes are compared with it at the end. Stops at the first
/// error of `visit`, and returns it. Memory: one piece, which is valid only during `visit`.
/// \error kDataLoss   the object ends early, or its bytes do not match the CRC32C
/// \error kCancelled  a stop was requested on `options.stop`
inline constexpr std::size_t kPieceBytes = 8 << 20;
Status read_in_pieces(Store& store, const ObjectInfo& object, std::uint64_t offset_bytes,
                      std::uint64_t size_bytes, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit);
Status read_in_pieces(Store& store, const ObjectInfo& object, const CallOptions& options,
                      const std::function<Status(BytesView)>& visit);
/// Reads exactly `target.size()` bytes.
/// \error kDataLoss  the object ends before that
Status read_exactly(Store& store, std::string_view key, MutableBytesView target, const ReadOptions& options);
Result<ObjectInfo> write_text(Store& store, std::string_view key, std::string_view text,
                              const WriteOptions& options = {});
/// All results of `list`, or of `list_unfinished`, in one vector.
Result<std::vector<ObjectInfo>> list_all(Store& store, std::string_view prefix,
                                         const ListOptions& options = {});
Result<std::vector<UnfinishedWrite>> list_all_unfinished(Store& store, std::string_view prefix,
                                                         const CallOptions& options = {});
Status remove_object(Store& store, std::string_view key, const CallOptions& options = {});

}  // namespace headrace
