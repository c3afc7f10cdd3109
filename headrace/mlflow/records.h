#pragma once

/// \file The records of the runs of a folder, and their metrics. Data that can no longer change are read only
/// once.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/history/history.h"
#include "headrace/store/registry.h"
#include "headrace/track/mlflow_run.h"
#include "headrace/track/run_record.h"

namespace headrace::mlflow {

using RecordPointer = std::shared_ptr<const RunRecord>;
using MetricsPointer = std::shared_ptr<const RunMetrics>;

/// Whether all parts of a run have ended.
bool has_ended(const RunRecord& record);

/// Reads records and keeps them in memory. Thread-safe.
class Records {
 public:
  /// `stores` must outlive it. `warn` is called from any thread with messages about damage.
  Records(Location root, StoreRegistry& stores, std::function<void(const std::string&)> warn)
      : root_(std::move(root)), stores_(stores), warn_(std::move(warn)) {}

  /// All records, by run. Damaged records are left out, with a warning. Cost: two listings, and reads for
  /// records that are new or have changed.
  Result<std::map<std::string, RecordPointer>> all(const CallOptions& call);
  /// The record of one run. Cost: one listing, and reads if the record is new or has changed.
  /// \error kNotFound  there is no run with this id
  /// \error kDataLoss  the record is damaged
  Result<RecordPointer> one(const std::string& run, const CallOptions& call);
  /// The metrics of a run. Those of a run that has ended are read only once.
  Result<MetricsPointer> metrics(const RunRecord& record, const CallOptions& call);

 private:
  using Signature = std::vector<std::string>;  // keys of the objects from which a record was read
  struct Known {
    Signature signature;
    RecordPointer record;
    MetricsPointer metrics{};  // only of a run that has ended
  };
  using Signatures = std::map<std::string, Signature>;

  Result<std::map<std::string, RecordPointer>> read(const Signatures& found, bool is_strict,
                                                    const CallOptions& call);

  const Location root_;
  StoreRegistry& stores_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace headrace::mlflow
