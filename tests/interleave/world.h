#pragma once

/// \file The stores of one case, and a witness of what is done to published parts.

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/location.h"

namespace headrace::interleave {

/// A memory store that notices when a part is replaced that a manifest names. Thread-safe.
class Witness final : public ForwardingStore {
 public:
  Witness();

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override;
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override;

  /// Keys of published parts that were replaced.
  std::vector<std::string> replaced() const;
  /// Manifests that were created, in their order; entries are not among them.
  std::vector<std::string> manifests() const;

 private:
  class WitnessedUpload;
  void created(std::string_view key, bool was_there);

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> parts_;  // that manifests name
  std::vector<std::string> replaced_;
  std::vector<std::string> manifests_;
};

/// All stores: `out`, where the commands meet; `copy`, the target of sync; `data`, which nobody changes.
struct World {
  std::shared_ptr<Witness> out = std::make_shared<Witness>();
  std::shared_ptr<Witness> copy = std::make_shared<Witness>();
  std::shared_ptr<Store> data;
};

Location location(const std::shared_ptr<Store>& store, const std::string& name, const std::string& key);

/// A world with the same objects.
World clone(const World& world);

}  // namespace headrace::interleave
