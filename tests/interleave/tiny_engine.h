#pragma once

/// \file An engine for tests, whose model trains without TensorFlow and Python.

#include <functional>
#include <string>

#include "headrace/engine/engine.h"
#include "headrace/engine/tensorflow/trace.h"

namespace headrace::interleave {

/// A model has one variable, a vector as wide as the features. Every step changes it by what it reads, in the
/// order of reading; so its value tells which records it has seen, in which order, from which seed. Thread-
/// safe.
class TinyEngine final : public Engine {
 public:
  std::string version() const override { return "tiny 1"; }
  Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions& options) override;
};

/// Traces models into folders below `folder`, one for each seed, in place of trace_model. Thread-safe.
std::function<Result<TracedModel>(const TraceRequest&)> tiny_tracer(std::string folder);

}  // namespace headrace::interleave
