#pragma once

/// \file One write: its chunks, its note, and the commit. docs/formats/ignite-store.md describes the steps,
/// and the effect of a writer that is stalled or killed in any of them. Internal to the driver.

#include <chrono>
#include <optional>

#include "headrace/net/ignite/cache_pipeline.h"
#include "headrace/store/ignite/ignite_heads.h"

namespace headrace {

/// Not thread-safe. Errors do not name the object. Destruction without a successful `commit` removes the
/// chunks that were sent, as far as the cluster can be reached within IgniteOptions::cleaning_time.
/// `headrace gc` removes the rest. Borrows `client`.
class IgniteWrite {
 public:
  IgniteWrite(const IgniteClient& client, IgniteCaches caches, std::string key, const WriteOptions& options);
  ~IgniteWrite();
  IgniteWrite(const IgniteWrite&) = delete;
  IgniteWrite& operator=(const IgniteWrite&) = delete;

  /// Sends the next chunk. Every chunk has kIgniteChunkBytes, except the last, which may be smaller but not
  /// empty. Borrows `content` until the call returns.
  /// \error kAborted  the unfinished write was removed, for example by `headrace gc`
  Status put_chunk(BytesView content);
  /// Makes the object visible. It consists of the chunks or, if there are none, of `content`.
  /// \error kAlreadyExists, kFailedPrecondition  as for Store::write
  /// \error kAborted                             as for put_chunk
  /// \error kDeadlineExceeded                    other writers of the same object were faster each time
  /// \error kUnknown                             a connection was lost, and it is unknown whether the object
  ///                                             was written
  Result<ObjectInfo> commit(BytesView content);

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Outcome { kDone, kAgain, kUnknown };

  Status save_note();
  Status make_room();
  Status settle(std::size_t most_in_flight);
  Status check_conditions(const std::optional<StoredHead>& current) const;
  Result<std::optional<Bytes>> prepare(const std::optional<StoredHead>& current);
  Result<Outcome> swap_head(BytesView before, BytesView entry);
  void remove_replaced_chunks();

  const IgniteClient& client_;
  IgniteCaches caches_;
  const std::string key_;
  const Bytes encoded_key_;
  const WriteOptions options_;
  ignite::CachePipeline pipeline_;
  IgniteNote note_;
  Bytes note_entry_{};  // the bytes that the cluster has; empty: there is no note
  Bytes claim_entry_{};
  Time note_saved_{};
  IgniteHead head_;
  bool is_done_ = false;
  bool was_removed_ = false;  // others removed the upload: no commit can succeed
};

}  // namespace headrace
