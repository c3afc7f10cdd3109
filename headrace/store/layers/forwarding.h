#pragma once

/// \file Base class for a layer that changes only a few calls.

#include <memory>
#include <utility>

#include "headrace/store/store.h"

namespace headrace {

/// Forwards every call to another store, unchanged. As thread-safe as that store.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  Result<ReadResult> read_into(std::string_view key, MutableBytesView target,
                               const ReadOptions& options) override {
    return store_->read_into(key, target, options);
  }
  Status read_many(std::span<const ReadRequest> requests, const CallOptions& options) override {
    return store_->read_many(requests, options);
  }
  Result<ObjectInfo> stat(std::string_view key, const CallOptions& options) override {
    return store_->stat(key, options);
  }
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    return store_->write(key, data, options);
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    return store_->start_upload(key, options);
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return store_->copy(from, to, options);
  }
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override {
    return store_->remove_many(keys, options);
  }
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override {
    return store_->list(prefix, options, visit);
  }
  Status list_unfinished(std::string_view prefix, const CallOptions& options,
                         const std::function<bool(const UnfinishedWrite&)>& visit) override {
    return store_->list_unfinished(prefix, options, visit);
  }
  Status remove_unfinished(const UnfinishedWrite& write, const CallOptions& options) override {
    return store_->remove_unfinished(write, options);
  }
  Capabilities capabilities() const override { return store_->capabilities(); }
  std::vector<StoreCounter> counters() const override { return store_->counters(); }
  std::string describe(std::string_view key) const override { return store_->describe(key); }

 protected:
  Store& inner() const { return *store_; }

 private:
  const std::shared_ptr<Store> store_;
};

}  // namespace headrace
