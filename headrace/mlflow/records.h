#pragma once

/// \file The records of the runs of a folder, and their metrics; what cannot change any more is read once.

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

bool has_ended(const RunRecord& record);

/// Thread-safe.
class Records {
 public:
  /// Borrows `stores`. `warn` is told of what is damaged, from any thread.
  Records(Location root, StoreRegistry& stores, std::function<void(const std::string&)> warn)
      : root_(std::move(root)), stores_(stores), warn_(std::move(warn)) {}

  /// Two listings, and reads for records that are new or have changed. Damaged ones are left out, with a
  /// warning.
  Result<std::map<std::string, RecordPointer>> all(const CallOptions& call);
  /// One listing, and reads if the record is new or has changed.
  /// \error kNotFound  no run of that id
  Result<RecordPointer> one(const std::string& run, const CallOptions& call);
  /// The metrics of a run; those of a run that has ended are read once.
  Result<MetricsPointer> metrics(const RunRecord& record, const CallOptions& call);

 private:
  using Signature = std::vector<std::string>;  // keys of the objects that a record was read from
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
