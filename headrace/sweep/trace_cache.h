#pragma once

/// \file Traces each model once in a process, however many runs train it.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "headrace/engine/tensorflow/trace.h"

namespace headrace {

/// Keeps the traces of a process as long as it lives. Thread-safe: a request waits only for requests of the
/// same trace.
class TraceCache {
 public:
  using Tracer = std::function<Result<TracedModel>(const TraceRequest&)>;
  explicit TraceCache(Tracer tracer) : tracer_(std::move(tracer)) {}

  /// Returns the trace for a request. Calls the tracer the first time, and again after an error.
  /// \error as the tracer
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

/// Digest of everything that the trace depends on. If the trace may depend on files, it is the digest of the
/// trace itself.
/// \error kUnknown  a file of the trace cannot be read
Result<std::string> trace_digest(const TracedModel& model);

}  // namespace headrace
