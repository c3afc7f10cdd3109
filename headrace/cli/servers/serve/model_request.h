#pragma once

/// \file A request to a model, of any protocol, from when it was read until it is answered: finds the
/// version, hands the rows to its batches, and counts the answer.
///
///   class Asked : public ModelRequest { … send_error … };
///   find_version(asked, models, {.name = "imdb"}, [asked] {
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

  /// Makes sure that there is memory for an answer of so many bytes, or for a part of one, before it is made.
  /// Within `resume`.
  /// \error kResourceExhausted  there is not, now or ever
  virtual Status reserve_answer(std::uint64_t bytes) = 0;
  /// Calls `work`, in the thread that sends answers of this request, so that the thread of an engine is
  /// not held up: soon, or at once.
  virtual void resume(std::function<void()> work) { work(); }

  std::string_view protocol() const { return protocol_; }
  /// As ServingMetrics::count; a literal. "predict" unless somebody says otherwise.
  void set_api(std::string_view api) { api_ = api; }
  Clock::time_point received() const { return received_; }
  /// When the request has to be answered, if the model gives it `most` time. The client may say otherwise.
  virtual Clock::time_point deadline_within(std::chrono::milliseconds most) const = 0;
  /// The header of that name, in any case, or the metadata of gRPC.
  virtual std::optional<std::string_view> header(std::string_view name) const = 0;
  /// Size of the body, or of the message.
  virtual std::uint64_t body_bytes() const = 0;

  /// Empty until the model was found: a client's text is no label of metrics.
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
  /// The version is the canary's, and its answer counts.
  void set_canary(CanaryRequest canary) { canary_request_ = std::move(canary); }
  /// Whether the model has a canary, and the version is another one.
  void set_is_beside_canary(bool is_beside) { is_beside_canary_ = is_beside; }
  /// The engine has answered the batch with this error, or the version's own batches take no more.
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

  /// \error kInvalidArgument  the version has no such signature: lists those that it has
  /// REQUIRES: version() is there
  Status choose_signature(std::string_view name);

 protected:
  /// Counts the answer, and ends the trace. `status`: of HTTP.
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

/// Calls `next` when the version is there, at once or from a thread of the model; otherwise answers with the
/// error: as ServedModels::find and LiveModel::await. Requests to infer that name no version may go to the
/// model's canary.
void find_version(std::shared_ptr<ModelRequest> request, const ServedModels& models,
                  const RequestedModel& requested, RequestPurpose purpose, std::function<void()> next);

/// Binds the request to the signature of this name, and hands its rows to the batches. When their answers
/// come, `answer` sends them in this encoding, or returns an error, which is then sent; other errors are
/// sent, too: see ModelRequest::resume. A request that was answered is logged, if it is in the sample. A
/// shadow may get a copy afterwards, and call `bind` again.
/// REQUIRES: version() is there
void run_rows(std::shared_ptr<ModelRequest> request, std::string_view signature, BindRequest bind,
              AnswerEncoding encoding, std::function<Status(const BatchAnswers&)> answer);

/// The states of a model's versions as TensorFlow Serving calls them; only that of `requested`, if it names a
/// version or a label. The reason of a failure is for operators: it may name places.
/// \error kNotFound  as ServedModels::find; there is no such version
Result<std::vector<RestVersionStatus>> version_statuses(const ServedModels& models,
                                                        const RequestedModel& requested);

/// The numbers of the versions that are ready.
std::vector<std::int64_t> ready_numbers(const LiveModel& model);

}  // namespace headrace
