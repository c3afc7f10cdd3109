#pragma once

/// \file Base class for a layer that does the same around every call of a store.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "headrace/store/layers/forwarding.h"

namespace headrace {

enum class StoreOperation : std::uint8_t {
  kRead,
  kReadMany,
  kStat,
  kWrite,
  kStartUpload,
  kAppend,
  kCommit,
  kCopy,
  kRemove,
  kList,
  kListUnfinished,
  kRemoveUnfinished,
};
inline constexpr std::size_t kStoreOperations = 12;
/// "read_many"
std::string_view operation_name(StoreOperation operation);

/// One call on its way to the store below. Borrows everything that it holds.
struct StoreCall {
  StoreOperation operation;
  std::string_view key;  // of several, the first; of a listing, the prefix
  const CallOptions& options;
  /// Making the call twice has the effect of once: reads, removals, writes without a condition; not the
  /// pieces of an upload.
  bool is_repeatable = true;
  /// The ranges of a read.
  std::span<const ReadRequest> reads{};
  /// The most that the call can move: for a read, the size of its targets.
  std::uint64_t asked_bytes = 0;
  /// The bytes that it moved, once it has ended.
  std::uint64_t moved_bytes = 0;
};

/// Forwards every call through `around`. As thread-safe as that and the store below. An upload must not
/// outlive the store that started it.
class InterceptingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override;
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override;
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override;
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override;
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override;
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override;
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override;

 protected:
  /// Does the work of the layer and calls `go_on`, which makes the call below: once, several times if the
  /// call is repeatable, or not at all; in that case it must return an error. Its error is the error of the
  /// call.
  virtual Status around(StoreCall& call, const std::function<Status()>& go_on) = 0;

 private:
  class InterceptedUpload;
  // The value of the last time that `perform` succeeded.
  template <typename T>
  Result<T> through(StoreCall call, const std::function<Result<T>(StoreCall&)>& perform);
};

}  // namespace headrace
