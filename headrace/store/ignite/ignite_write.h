#pragma once

/// \file One write: its chunks, its note, and the commit. docs/formats/ignite-store.md has the steps and says
/// what happens if a writer is stalled or killed in any of them. Internal to the driver.

#include <chrono>
#include <optional>

#include "headrace/net/ignite/cache_pipeline.h"
#include "headrace/store/ignite/ignite_heads.h"

namespace headrace {

/// Not thread-safe. Errors do not name the object. Destruction without a successful `commit` removes what was
/// sent, as far as the cluster can be reached; `headrace gc` removes the rest.
class IgniteWrite {
 public:
  IgniteWrite(const IgniteClient& client, IgniteCaches caches, std::string key, const WriteOptions& options);
  ~IgniteWrite();
  IgniteWrite(const IgniteWrite&) = delete;
  IgniteWrite& operator=(const IgniteWrite&) = delete;

  /// Sends the next chunk: kIgniteChunkBytes, the last one less, but not 0. Borrows it until it returns.
  /// \error kAborted  the unfinished write was removed, by `headrace gc`
  Status put_chunk(BytesView content);
  /// Makes the object visible: the chunks or, if there are none, `content`.
  /// \error kAlreadyExists, kFailedPrecondition  as Store::write; kAborted as put_chunk
  /// \error kUnknown  a connection was lost, and nobody knows if the object was written
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
  void remove_what_was_replaced();

  const IgniteClient& client_;
  IgniteCaches caches_;
  const std::string key_;
  const Bytes encoded_key_;
  const WriteOptions options_;
  ignite::CachePipeline pipeline_;
  IgniteNote note_;
  Bytes note_entry_{};  // as the cluster has it; empty: there is none
  Bytes claim_entry_{};
  Time note_saved_{};
  IgniteHead head_;
  bool is_done_ = false;
  bool was_removed_ = false;  // by others: no commit can succeed
};

}  // namespace headrace
