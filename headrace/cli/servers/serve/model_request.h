#pragma once

/// \file A request to a model, in any protocol, from reading to its answer: finds the version, passes the
/// rows to its batches, and counts the answer.
///
///   class Asked : public ModelRequest { … send_error … };
///   find_version(asked, models, {.name = "imdb"}, RequestPurpose::kInfer, [asked] {
///     …
///     run_rows(asked, name, bind, AnswerEncoding::kJson,
///              [asked](const BatchAnswers& answers) -> Status { … send … });
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
#include "headrace/serve/protocol/answers.h"
#include "headrace/serve/protocol/bound_request.h"
#include "headrace/serve/protocol/rest_v1.h"

namespace headrace {

/// The base class of requests to models. Not thread-safe.
class ModelRequest {
 public:
  using Clock = std::chrono::steady_clock;

  /// `protocol`: as in ServingMetrics::count. `metrics` and the text of `protocol` must outlive the request.
  ModelRequest(ServingMetrics& metrics, std::string_view protocol, Clock::time_point received)
      : metrics_(metrics), protocol_(protocol), received_(received) {}
  virtual ~ModelRequest() = default;

  /// Sends an error as the answer. At most one answer or error is sent. `retry_after`: when the client should
  /// retry, for kResourceExhausted and kUnavailable; 0: soon.
  virtual void send_error(const Error& error, std::chrono::nanoseconds retry_after = {}) = 0;

  /// Reserves memory for an answer of so many bytes, or a part of one, before it is made. Call it within
  /// `resume`.
  /// \error kResourceExhausted  there is not enough memory, now or ever
  virtual Status reserve_answer(std::uint64_t bytes) = 0;
  /// Calls `work`, soon or at once, in the thread that sends answers of this request, so that the engine's
  /// thread is not held up.
  virtual void resume(std::function<void()> work) { work(); }

  std::string_view protocol() const { return protocol_; }
  /// As in ServingMetrics::count; `api` must be a literal. "predict" by default.
  void set_api(std::string_view api) { api_ = api; }
  Clock::time_point received() const { return received_; }
  /// When the request must be answered, if the model allows `most` time and the client does not say
  /// otherwise.
  virtual Clock::time_point deadline_within(std::chrono::milliseconds most) const = 0;
  /// The header, or metadata of gRPC, with that name, in any case.
  virtual std::optional<std::string_view> header(std::string_view name) const = 0;
  /// Size of the body or message.
  virtual std::uint64_t body_bytes() const = 0;

  /// Empty until the model was found, because a client's text must not become a label of metrics.
  const std::string& model() const { return model_; }
  void set_model(std::string_view name, std::shared_ptr<const ServedEntry> entry) {
    model_ = name;
    entry_ = std::move(entry);
  }
  /// REQUIRES: the model was found
  const ServedEntry& entry() const { return *entry_; }
  const LiveModel& live() const { return *entry_->live; }
  Clock::time_point deadline() const { return deadline_within(entry_->deadline); }
  /// Null until find_version has found it.
  const std::shared_ptr<ServedVersion>& version() const { return version_; }
  void set_version(std::shared_ptr<ServedVersion> version) { version_ = std::move(version); }
  /// Says that the version is the canary's, and that its answer counts for the canary.
  void set_canary(CanaryRequest canary) { canary_request_ = std::move(canary); }
  /// Says whether the model has a canary, and this request uses another version.
  void set_is_beside_canary(bool is_beside) { is_beside_canary_ = is_beside; }
  /// Says that the engine answered the batch with this error, or that the version's batches accept no more
  /// rows.
  void set_engine_error(Code code) { engine_error_ = code; }
  std::int64_t version_number() const { return static_cast<std::int64_t>(version_->number()); }
  /// Null: the request is not logged.
  RequestLog* log() const { return log_; }
  void set_log(RequestLog* log) { log_ = log; }
  /// Null until choose_signature has found it.
  const ServedSignature* signature() const { return signature_; }

  /// Null: the request is not traced.
  RequestTrace* trace() const { return trace_.get(); }
  void set_trace(std::unique_ptr<RequestTrace> trace) { trace_ = std::move(trace); }

  /// Sets the signature.
  /// \error kInvalidArgument  the version has no such signature: the message lists those that it has
  /// REQUIRES: version() is not null
  Status choose_signature(std::string_view name);

 protected:
  /// Counts the answer, and ends the trace. `status`: the HTTP status.
  void count(unsigned status);

 private:
  CanaryRequest::Outcome outcome(unsigned status) const;

  ServingMetrics& metrics_;
  const std::string_view protocol_;
  std::string_view api_ = "predict";
  const Clock::time_point received_;
  std::string model_;
  std::shared_ptr<const ServedEntry> entry_;
  std::shared_ptr<ServedVersion> version_;
  const ServedSignature* signature_ = nullptr;
  CanaryRequest canary_request_;
  bool is_beside_canary_ = false;
  std::optional<Code> engine_error_;
  RequestLog* log_ = nullptr;
  std::unique_ptr<RequestTrace> trace_;
};

enum class RequestPurpose : std::uint8_t { kDescribe, kInfer };

/// Finds the version of a request, then calls `next`, at once or from a thread of the model. If there is
/// none, sends the error of ServedModels::find or LiveModel::await. A request for inference that names no
/// version may go to the model's canary.
void find_version(std::shared_ptr<ModelRequest> request, const ServedModels& models,
                  const RequestedModel& requested, RequestPurpose purpose, std::function<void()> next);

/// Binds the request to the signature with this name, and passes its rows to the batches. When the results
/// arrive, `answer` sends them in this encoding, or returns an error, which is then sent; all other errors
/// are sent, too. `answer` is called through ModelRequest::resume. An answered request is logged if it is in
/// the sample. A shadow may get a copy afterwards, for which `bind` is called again.
/// REQUIRES: request->version() is not null
void run_rows(std::shared_ptr<ModelRequest> request, std::string_view signature, BindRequest bind,
              AnswerEncoding encoding, std::function<Status(const BatchAnswers&)> answer);

/// The states of a model's versions, as TensorFlow Serving names them. If `requested` names a version or a
/// label, only the state of that version. Reasons of failures are left out: they are for operators, and may
/// name places.
/// \error kNotFound  as ServedModels::find; or there is no such version or label
Result<std::vector<RestVersionStatus>> version_statuses(const ServedModels& models,
                                                        const RequestedModel& requested);

/// The numbers of the versions that are ready.
std::vector<std::int64_t> ready_numbers(const LiveModel& model);

}  // namespace headrace
