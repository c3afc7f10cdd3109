#include "headrace/store/layers/intercepting.h"

#include <array>
#include <optional>
#include <string>

namespace headrace {
namespace {

std::uint64_t bytes_of(std::span<const ReadRequest> requests) {
  std::uint64_t bytes = 0;
  for (const ReadRequest& request : requests) bytes += request.target.size();
  return bytes;
}

}  // namespace

std::string_view operation_name(StoreOperation operation) {
  static constexpr std::array<std::string_view, kStoreOperations> kNames = {
      "read",   "read_many", "stat",   "write", "start_upload",    "append",
      "commit", "copy",      "remove", "list",  "list_unfinished", "remove_unfinished"};
  return kNames[static_cast<std::size_t>(operation)];
}

template <typename T>
Result<T> InterceptingStore::through(StoreCall call, const std::function<Result<T>(StoreCall&)>& perform) {
  std::optional<T> value;
  HEADRACE_CHECK(around(call, [&]() -> Status {
    HEADRACE_TRY(value, perform(call));
    return {};
  }));
  return *std::move(value);
}

class InterceptingStore::InterceptedUpload final : public Upload {
 public:
  InterceptedUpload(InterceptingStore& store, std::unique_ptr<Upload> upload, std::string_view key,
                    CallOptions call)
      : store_(store), upload_(std::move(upload)), key_(key), call_(std::move(call)) {}

  Status append(BytesView data) override {
    StoreCall call{
        .operation = StoreOperation::kAppend, .key = key_, .options = call_, .asked_bytes = data.size()};
    return store_.around(call, [&]() -> Status {
      HEADRACE_CHECK(upload_->append(data));
      call.moved_bytes = data.size();
      return {};
    });
  }

  Result<ObjectInfo> commit() override {
    return store_.through<ObjectInfo>({StoreOperation::kCommit, key_, call_},
                                      [&](StoreCall&) { return upload_->commit(); });
  }

 private:
  InterceptingStore& store_;
  const std::unique_ptr<Upload> upload_;
  const std::string key_;
  const CallOptions call_;
};

Result<ReadResult> InterceptingStore::read_into(std::string_view key, MutableBytesView target,
                                                const ReadOptions& options) {
  const ReadRequest read{std::string(key), options.offset_bytes, target, options.if_version};
  const StoreCall call{.operation = StoreOperation::kRead,
                       .key = key,
                       .options = options.call,
                       .reads = {&read, 1},
                       .asked_bytes = target.size()};
  return through<ReadResult>(call, [&](StoreCall& now) -> Result<ReadResult> {
    HEADRACE_TRY(ReadResult result, inner().read_into(key, target, options));
    now.moved_bytes = result.bytes_read;
    return result;
  });
}

Status InterceptingStore::read_many(std::span<const ReadRequest> requests, const CallOptions& options) {
  StoreCall call{.operation = StoreOperation::kReadMany,
                 .key = requests.empty() ? std::string_view() : requests.front().key,
                 .options = options,
                 .reads = requests,
                 .asked_bytes = bytes_of(requests)};
  return around(call, [&]() -> Status {
    HEADRACE_CHECK(inner().read_many(requests, options));
    call.moved_bytes = call.asked_bytes;
    return {};
  });
}

Result<ObjectInfo> InterceptingStore::stat(std::string_view key, const CallOptions& options) {
  return through<ObjectInfo>({StoreOperation::kStat, key, options},
                             [&](StoreCall&) { return inner().stat(key, options); });
}

Result<ObjectInfo> InterceptingStore::write(std::string_view key, BytesView data,
                                            const WriteOptions& options) {
  const StoreCall call{
      .operation = StoreOperation::kWrite, .key = key, .options = options.call, .asked_bytes = data.size()};
  return through<ObjectInfo>(call, [&](StoreCall& now) -> Result<ObjectInfo> {
    HEADRACE_TRY(ObjectInfo written, inner().write(key, data, options));
    now.moved_bytes = data.size();
    return written;
  });
}

Result<std::unique_ptr<Upload>> InterceptingStore::start_upload(std::string_view key,
                                                                const WriteOptions& options) {
  using Started = std::unique_ptr<Upload>;
  HEADRACE_TRY(Started upload,
               through<Started>({StoreOperation::kStartUpload, key, options.call},
                                [&](StoreCall&) { return inner().start_upload(key, options); }));
  return Started(std::make_unique<InterceptedUpload>(*this, std::move(upload), key, options.call));
}

Result<ObjectInfo> InterceptingStore::copy(std::string_view from, std::string_view to,
                                           const WriteOptions& options) {
  return through<ObjectInfo>({StoreOperation::kCopy, from, options.call},
                             [&](StoreCall&) { return inner().copy(from, to, options); });
}

Status InterceptingStore::remove_many(std::span<const std::string> keys, const CallOptions& options) {
  const std::string_view first = keys.empty() ? std::string_view() : keys.front();
  StoreCall call{StoreOperation::kRemove, first, options};
  return around(call, [&] { return inner().remove_many(keys, options); });
}

Status InterceptingStore::list(std::string_view prefix, const ListOptions& options,
                               const std::function<bool(const ObjectInfo&)>& visit) {
  StoreCall call{StoreOperation::kList, prefix, options.call};
  return around(call, [&] { return inner().list(prefix, options, visit); });
}

Status InterceptingStore::list_unfinished(std::string_view prefix, const CallOptions& options,
                                          const std::function<bool(const UnfinishedWrite&)>& visit) {
  StoreCall call{StoreOperation::kListUnfinished, prefix, options};
  return around(call, [&] { return inner().list_unfinished(prefix, options, visit); });
}

Status InterceptingStore::remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) {
  StoreCall call{StoreOperation::kRemoveUnfinished, write.key, options};
  return around(call, [&] { return inner().remove_unfinished(write, options); });
}

}  // namespace headrace
