#pragma once

/// \file Base class for a layer that wraps every call of a store in the same way.

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

/// One call on its way to the store below. Borrows everything that it refers to.
struct StoreCall {
  StoreOperation operation;
  std::string_view key;  // the first one, if there are several; the prefix, for a listing
  const CallOptions& options;
  /// The ranges of a read.
  std::span<const ReadRequest> reads{};
  /// The largest number of bytes that the call can move. For a read: the size of its targets.
  std::uint64_t asked_bytes = 0;
  /// The bytes that the call has moved, once it has ended.
  std::uint64_t moved_bytes = 0;
};

/// Forwards every call through `around`. As thread-safe as `around` and the store below. An upload must not
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
  /// Does the work of the layer. `go_on` makes the call to the store below. Call `go_on` once, or not at all
  /// and then return an error. An error of `around` is the error of the call.
  virtual Status around(StoreCall& call, const std::function<Status()>& go_on) = 0;

 private:
  class InterceptedUpload;
  // Runs `perform` through `around`, and returns its value.
  template <typename T>
  Result<T> through(StoreCall call, const std::function<Result<T>(StoreCall&)>& perform);
};

}  // namespace headrace
