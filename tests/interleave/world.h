#pragma once

/// \file The stores of one case, its machine, and a witness of what is done to published parts and logs.

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "headrace/store/layers/forwarding.h"
#include "headrace/store/location.h"
#include "tests/interleave/ledger.h"
#include "tests/interleave/local_folder.h"

namespace headrace::interleave {

/// A memory store that notices when a part is replaced that a manifest names, or an object of a log; and when
/// logs lose objects. Thread-safe.
class Witness final : public ForwardingStore {
 public:
  Witness();

  /// The memory store knows no times. Objects of artifacts and metrics are old, so `gc` looks at them.
  Status list(std::string_view prefix, const ListOptions& options,
              const std::function<bool(const ObjectInfo&)>& visit) override;
  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override;
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override;
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override;
  Status remove_many(std::span<const std::string> keys, const CallOptions& options) override;

  /// Keys of published parts, of objects of logs, and of scores and reports of curves, that were replaced.
  std::vector<std::string> replaced() const;
  /// Keys of logs of metrics, of which something was removed that nothing else holds; of folders of media of
  /// which something was removed; also kRequestLogs and
  /// kRunRecords, where any of their objects was, and kArtifacts, where one was that `gc` had not given up;
  /// and kCurveScores, where a score or a part of a report was.
  std::set<std::string> shortened() const;
  /// Manifests that were created, in their order; entries are not among them.
  std::vector<std::string> manifests() const;

 private:
  class WitnessedUpload;
  void created(std::string_view key, bool was_there);
  bool is_compacted(const std::string& key) const;

  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> parts_;  // that manifests name
  std::vector<std::string> replaced_;
  std::set<std::string> shortened_;
  std::vector<std::string> manifests_;
};

/// Where records of runs lie that log metrics, in `out`.
inline constexpr std::string_view kRunRecords = "x/_headrace/runs";
/// Where artifacts lie, in `out`.
inline constexpr std::string_view kArtifacts = "x/_headrace/artifacts";
/// Where servers log requests, in `out`; and what the datasets of them are called, in `copy`.
inline constexpr std::string_view kRequestLogs = "x/requests";
inline constexpr std::string_view kRowsOfRequests = "rows";

/// Where learning curves keep scores and reports, in `out`.
inline constexpr std::string_view kCurveScores = "x/scores";
inline constexpr std::string_view kCurveReports = "x/reports";

/// All stores: `out`, where the commands meet; `copy`, the target of sync; `data`, which nobody changes. And
/// the machine that all commands run on, with what they were promised.
struct World {
  std::shared_ptr<Witness> out = std::make_shared<Witness>();
  std::shared_ptr<Witness> copy = std::make_shared<Witness>();
  std::shared_ptr<Store> data{};
  std::shared_ptr<LocalFolder> machine = std::make_shared<LocalFolder>();
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
};

Location location(const std::shared_ptr<Store>& store, const std::string& name, const std::string& key);

/// A world with the same objects, files and promises. While a command is stalled: as if it were killed.
World clone(const World& world);

}  // namespace headrace::interleave
