#pragma once

/// \file A request to a model, of any protocol, from when it was read until it is answered: finds the
/// version, hands the rows to its batches, and counts the answer.
///
///   class Asked : public ModelRequest { … send_error … };
///   find_version(asked, models, {.name = "imdb"}, [asked] {
///     …
///     run_rows(asked, *bound, [asked](const BatchAnswers& answers) -> Status { … send … });
///   });

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/cli/servers/serve/request_trace.h"
#include "headrace/cli/servers/serve/served_models.h"
#include "headrace/cli/servers/serve/serving_metrics.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/rest_v1.h"

namespace headrace {

/// One thread at a time.
class ModelRequest {
 public:
  using Clock = std::chrono::steady_clock;

  /// `protocol`: as ServingMetrics::count. Both outlive the request.
  ModelRequest(ServingMetrics& metrics, std::string_view protocol, Clock::time_point received)
      : metrics_(metrics), protocol_(protocol), received_(received) {}
  virtual ~ModelRequest() = default;

  /// Answers with an error, once in place of an answer. `retry_after`: when to come again, for
  /// kResourceExhausted and kUnavailable; 0: soon.
  virtual void send_error(const Error& error, std::chrono::nanoseconds retry_after = {}) = 0;

  std::string_view protocol() const { return protocol_; }
  Clock::time_point received() const { return received_; }
  Clock::time_point deadline() const { return deadline_; }
  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  /// Empty until the model was found: a client's text is no label of metrics.
  const std::string& model() const { return model_; }
  void set_model(std::string_view name, const LiveModel* live) {
    model_ = name;
    live_ = live;
  }
  /// Null until the model was found.
  const LiveModel* live() const { return live_; }
  /// Null until find_version has found it.
  const std::shared_ptr<ServedVersion>& version() const { return version_; }
  void set_version(std::shared_ptr<ServedVersion> version) { version_ = std::move(version); }
  std::int64_t version_number() const { return static_cast<std::int64_t>(version_->number()); }
  /// Null until choose_signature has found it.
  const ServedSignature* signature() const { return signature_; }

  /// Null: the request is not traced.
  RequestTrace* trace() const { return trace_.get(); }
  void set_trace(std::unique_ptr<RequestTrace> trace) { trace_ = std::move(trace); }

  /// \error kInvalidArgument  the version has no such signature: lists those that it has
  /// REQUIRES: version() is there
  Status choose_signature(std::string_view name);

 protected:
  /// Counts the answer, and ends the trace. `status`: of HTTP.
  void count(unsigned status) const;

 private:
  ServingMetrics& metrics_;
  const std::string_view protocol_;
  const Clock::time_point received_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string model_;
  const LiveModel* live_ = nullptr;
  std::shared_ptr<ServedVersion> version_;
  const ServedSignature* signature_ = nullptr;
  std::unique_ptr<RequestTrace> trace_;
};

/// Calls `next` when the version is there, at once or from a thread of the model; otherwise answers with the
/// error: as ServedModels::find and LiveModel::await.
void find_version(std::shared_ptr<ModelRequest> request, const ServedModels& models,
                  const RequestedModel& requested, std::function<void()> next);

/// Hands the rows to the batches of the chosen signature. When their answers come, from a thread of the
/// engine, `answer` sends them, or returns an error, which is then sent; other errors are sent, too.
/// REQUIRES: the signature is chosen, and `bound` fits it
void run_rows(std::shared_ptr<ModelRequest> request, const BoundRequest& bound,
              std::function<Status(const BatchAnswers&)> answer);

/// The states of a model's versions as TensorFlow Serving calls them; only that of `requested`, if it names a
/// version or a label. The reason of a failure is for operators: it may name places.
/// \error kNotFound  as ServedModels::find; there is no such version
Result<std::vector<RestVersionStatus>> version_statuses(const ServedModels& models,
                                                        const RequestedModel& requested);

/// The numbers of the versions that are ready.
std::vector<std::int64_t> ready_numbers(const LiveModel& model);

}  // namespace headrace
