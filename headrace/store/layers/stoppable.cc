#include "headrace/store/layers/stoppable.h"

#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

class StoppableStore final : public ForwardingStore {
 public:
  StoppableStore(std::shared_ptr<Store> store, std::stop_token stop)
      : ForwardingStore(std::move(store)), stop_(std::move(stop)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    return inner().read_into(key, target, with_stop(options));
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return inner().read_many(requests, with_stop(options));
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return inner().stat(key, with_stop(options));
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    return inner().write(key, data, with_stop(options));
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    return inner().start_upload(key, with_stop(options));
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return inner().copy(from, to, with_stop(options));
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    return inner().remove_many(keys, with_stop(options));
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return inner().list(prefix, with_stop(options), visit);
  }
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    return inner().list_unfinished(prefix, with_stop(options), visit);
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    return inner().remove_unfinished(write, with_stop(options));
  }

 private:
  CallOptions with_stop(CallOptions call) const {
    if (!call.stop.stop_possible()) call.stop = stop_;
    return call;
  }
  template <typename Options>
  Options with_stop(Options options) const {
    options.call = with_stop(std::move(options.call));
    return options;
  }

  const std::stop_token stop_;
};

}  // namespace

std::unique_ptr<Store> make_stoppable(std::shared_ptr<Store> store, std::stop_token stop) {
  return std::make_unique<StoppableStore>(std::move(store), std::move(stop));
}

Location make_stoppable(Location location, std::stop_token stop) {
  location.store = make_stoppable(std::move(location.store), std::move(stop));
  return location;
}

}  // namespace headrace
