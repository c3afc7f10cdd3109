#include "headrace/store/layers/stoppable.h"

namespace headrace {
namespace {

class StoppableStore final : public Store {
 public:
  StoppableStore(std::shared_ptr<Store> store, std::stop_token stop)
      : store_(std::move(store)), stop_(std::move(stop)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    return store_->read_into(key, target, with_stop(options));
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return store_->read_many(requests, with_stop(options));
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return store_->stat(key, with_stop(options));
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    return store_->write(key, data, with_stop(options));
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    return store_->start_upload(key, with_stop(options));
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return store_->copy(from, to, with_stop(options));
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    return store_->remove_many(keys, with_stop(options));
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return store_->list(prefix, with_stop(options), visit);
  }
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    return store_->list_unfinished(prefix, with_stop(options), visit);
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    return store_->remove_unfinished(write, with_stop(options));
  }
  Capabilities capabilities() const override { return store_->capabilities(); }
  std::string describe(std::string_view key) const override { return store_->describe(key); }

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

  const std::shared_ptr<Store> store_;
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
