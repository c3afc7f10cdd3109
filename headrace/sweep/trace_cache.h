#pragma once

/// \file Each model is traced once in a process, however many runs train it.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/engine/tensorflow/trace.h"

namespace headrace {

/// Keeps the traces of a process, as long as it lives. Thread-safe: requests for one trace wait for each
/// other, others do not.
class TraceCache {
 public:
  using Tracer = std::function<Result<TracedModel>(const TraceRequest&)>;
  explicit TraceCache(Tracer tracer) : tracer_(std::move(tracer)) {}

  /// \error as the tracer; an error is not kept
  Result<TracedModel> trace(const TraceRequest& request);

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<TracedModel> model;
  };

  const Tracer tracer_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
};

/// Digest of what the trace depends on; of a trace that may depend on files, of the trace itself.
/// \error kUnknown  a file of the trace cannot be read
Result<std::string> trace_digest(const TracedModel& model);

}  // namespace headrace
