#include "headrace/store/layers/prefixed.h"

#include <string>
#include <utility>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

class PrefixedStore final : public ForwardingStore {
 public:
  explicit PrefixedStore(Location folder)
      : ForwardingStore(std::move(folder.store)),
        folder_(std::move(folder.key)),
        prefix_(folder_prefix(folder_)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    HEADRACE_TRY(ReadResult read, inner().read_into(inside(key), target, options));
    read.object = seen(std::move(read.object));
    return read;
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    std::vector<ReadRequest> all(requests.begin(), requests.end());
    for (ReadRequest& request : all) request.key = inside(request.key);
    return inner().read_many(all, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return seen(inner().stat(inside(key), options));
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    return seen(inner().write(inside(key), data, options));
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    HEADRACE_TRY(std::unique_ptr<Upload> upload, inner().start_upload(inside(key), options));
    return std::unique_ptr<Upload>(std::make_unique<PrefixedUpload>(*this, std::move(upload)));
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return seen(inner().copy(inside(from), inside(to), options));
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    std::vector<std::string> all;
    for (const std::string& key : keys) all.push_back(inside(key));
    return inner().remove_many(all, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    ListOptions all = options;
    if (!all.after.empty()) all.after = inside(all.after);
    return inner().list(inside(prefix), all, [&](const ObjectInfo& object) { return visit(seen(object)); });
  }
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    return inner().list_unfinished(inside(prefix), options, [&](UnfinishedWrite write) {
      write.key.erase(0, prefix_.size());
      return visit(write);
    });
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    UnfinishedWrite whole = write;
    whole.key = inside(write.key);
    return inner().remove_unfinished(whole, options);
  }
  std::string describe(std::string_view key) const override {
    return inner().describe(key.empty() ? folder_ : inside(key));
  }

 private:
  class PrefixedUpload final : public Upload {
   public:
    PrefixedUpload(const PrefixedStore& store, std::unique_ptr<Upload> upload)
        : store_(store), upload_(std::move(upload)) {}
    Status append(BytesView data) override { return upload_->append(data); }
    Result<ObjectInfo> commit() override { return store_.seen(upload_->commit()); }

   private:
    const PrefixedStore& store_;
    const std::unique_ptr<Upload> upload_;
  };

  std::string inside(std::string_view key) const { return concat(prefix_, key); }
  ObjectInfo seen(ObjectInfo object) const {
    object.key.erase(0, prefix_.size());
    return object;
  }
  Result<ObjectInfo> seen(Result<ObjectInfo> object) const {
    if (!object) return object;
    return seen(*std::move(object));
  }

  const std::string folder_;
  const std::string prefix_;
};

}  // namespace

std::unique_ptr<Store> make_prefixed(Location folder) {
  return std::make_unique<PrefixedStore>(std::move(folder));
}

}  // namespace headrace
