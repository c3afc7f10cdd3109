#include "headrace/cli/servers/serve/model_request.h"

#include "headrace/base/text.h"

namespace headrace {
namespace {

RestVersionState rest_state(VersionState state) {
  switch (state) {
    case VersionState::kReady:
      return RestVersionState::kAvailable;
    case VersionState::kDraining:
      return RestVersionState::kUnloading;
    case VersionState::kFailed:
      return RestVersionState::kEnd;
    default:
      return RestVersionState::kLoading;
  }
}

// Larger answers take a while to encode, and other requests must not wait for that.
constexpr std::uint64_t kQuickBytes = 256 << 10;

// The parsed form of a request is about as large as its rows.
std::uint64_t bytes_of(const BoundRequest& bound) {
  return bound.rows() * row_bytes_of(bound.row()) + bound.texts_bytes();
}

// The time that the version has for a request, if the client allows as much as the model does: some of that
// time has passed before the whole request was there.
std::chrono::nanoseconds own_time(const ServedEntry& entry) {
  return std::chrono::nanoseconds(entry.deadline) * 9 / 10;
}

// Rows that were committed and wait for their answers.
struct CommittedRows {
  std::shared_ptr<ModelRequest> request;
  std::shared_ptr<LoggedRequest> logged;  // null if the request is not in the sample
  const ServedSignature* signature;       // a request of several tasks may have chosen the next one meanwhile
  std::uint64_t kept_bytes;               // bytes that `bind` keeps
  BindRequest bind;                       // empty if no shadow is asked
  AnswerEncoding encoding;
  std::function<Status(const BatchAnswers&)> answer;

  void finish(const Result<BatchAnswers>& answers) const {
    if (!answers) {
      request->set_engine_error(answers.error().code);
      return request->send_error(answers.error());
    }
    if (RequestTrace* const trace = request->trace()) {
      trace->mark("queue", answers->front().outputs->begun);
      trace->mark("run");
    }
    if (const Status sent = send(*answers); !sent) return request->send_error(sent.error());
    if (logged) logged->add(*answers);
    if (!bind) return;
    // The request holds the bytes that `bind` reads.
    auto bind_again = [request = request, bind = bind](const ServedSignature& its) { return bind(its); };
    request->entry().shadow->ask({.bind = std::move(bind_again),
                                  .version = request->version(),
                                  .signature = signature,
                                  .answers = *answers,
                                  .kept_bytes = kept_bytes});
  }
  Status send(const BatchAnswers& answers) const {
    const std::uint64_t bytes = most_encoded_bytes(answers, encoding);
    HEADRACE_CHECK(request->reserve_answer(bytes));
    if (bytes > kQuickBytes) CommitRound::send_committed();
    return answer(answers);
  }
};

}  // namespace

Status ModelRequest::choose_signature(std::string_view name) {
  signature_ = version_->model().find(name);
  if (signature_ != nullptr) return {};
  std::vector<std::string> names;
  for (const ServedSignature& each : version_->model().signatures) names.push_back(each.name);
  return Error{Code::kInvalidArgument, concat("the model ", model_, " has no signature ",
                                              printable_line(name, 128), "; it has ", join(names, ", "))};
}

void ModelRequest::count(unsigned status) {
  metrics_.count(model_, protocol_, api_, status, Clock::now() - received_);
  if (trace_) trace_->end(protocol_, model_, version_ ? version_->number() : 0, status);
  canary_request_.finish(outcome(status));
  if (is_beside_canary_) entry_->canary->count_other(outcome(status));
}

CanaryRequest::Outcome ModelRequest::outcome(unsigned status) const {
  using Outcome = CanaryRequest::Outcome;
  if (status < 400) return Outcome::kAnswered;
  if (engine_error_ == Code::kInvalidArgument || engine_error_ == Code::kOutOfRange)
    return Outcome::kRejected;
  if (!engine_error_ && status == http_status(Code::kDeadlineExceeded)) return Outcome::kNotCounted;
  // An engine may also report this by itself, before the deadline.
  if (engine_error_ == Code::kDeadlineExceeded && Clock::now() >= deadline())
    return canary_request_.age() < own_time(*entry_) ? Outcome::kGivenUp : Outcome::kFailed;
  // A model that lacks a file answers 404, which the client has not caused.
  const bool is_versions_fault = engine_error_ && engine_error_ != Code::kCancelled;
  return status >= 500 || is_versions_fault ? Outcome::kFailed : Outcome::kNotCounted;
}

namespace {

// The canary's version, if the request goes to it and it is ready.
std::shared_ptr<ServedVersion> canary_for(ModelRequest& request) {
  Canary* const canary = request.entry().canary.get();
  if (canary == nullptr) return nullptr;
  const std::string& sticky = canary->options().sticky_header;
  request.set_is_beside_canary(true);
  if (!canary->draws(sticky.empty() ? std::nullopt : request.header(sticky))) return nullptr;
  auto version = request.live().find(canary->options().version);
  if (!version) return nullptr;
  request.set_is_beside_canary(false);
  request.set_canary(canary->begin((*version)->number()));
  return *std::move(version);
}

}  // namespace

void find_version(std::shared_ptr<ModelRequest> request, const ServedModels& models,
                  const RequestedModel& requested, RequestPurpose purpose, std::function<void()> next) {
  // Held until the end of this function: the request may be answered before `await` returns.
  const auto entry = models.find(requested.name);
  if (!entry) return request->send_error(entry.error());
  request->set_model(requested.name, *entry);
  request->set_log(models.request_log());
  const bool may_be_canary = purpose == RequestPurpose::kInfer && !requested.version && !requested.label;
  if (auto version = may_be_canary ? canary_for(*request) : nullptr) {
    request->set_version(std::move(version));
    return next();
  }
  std::optional<std::uint64_t> number;
  if (requested.version) number = static_cast<std::uint64_t>(*requested.version);
  const auto besides = released_versions(**entry);
  const ModelRequest::Clock::time_point deadline = request->deadline();
  (*entry)->live->await(
      number, requested.label, deadline,
      [request = std::move(request), next = std::move(next)](auto version) {
        if (!version) return request->send_error(version.error());
        request->set_version(*std::move(version));
        next();
      },
      besides);
}

namespace {

// The batches of the version accept no more. That is the version's fault, unless only the client's time is
// too short.
void refuse(ModelRequest& request, const Error& error, std::chrono::nanoseconds expected_wait) {
  const auto time_left = request.deadline() - ModelRequest::Clock::now();
  const bool is_in_a_hurry = expected_wait >= time_left && expected_wait < own_time(request.entry());
  if (error.code == Code::kResourceExhausted && !is_in_a_hurry) request.set_engine_error(error.code);
  request.send_error(error, expected_wait);
}

}  // namespace

void run_rows(std::shared_ptr<ModelRequest> request, std::string_view signature, BindRequest bind,
              AnswerEncoding encoding, std::function<Status(const BatchAnswers&)> answer) {
  if (const Status known = request->choose_signature(signature); !known)
    return request->send_error(known.error());
  const auto bound = bind(*request->signature());
  if (!bound) return request->send_error(bound.error());
  ServedVersion& version = *request->version();
  Batcher& batcher =
      version.batcher(static_cast<std::size_t>(request->signature() - version.model().signatures.data()));
  auto rows = batcher.reserve(
      (*bound)->rows(), (*bound)->row(),
      {.deadline = request->deadline(), .texts_bytes = (*bound)->texts_bytes(), .owner = request->version()});
  if (!rows) return refuse(*request, rows.error(), batcher.expected_wait());
  if (const Status filled = (*bound)->fill(*rows); !filled) return request->send_error(filled.error());
  if (RequestTrace* const trace = request->trace()) trace->mark("parse");
  std::shared_ptr<LoggedRequest> logged;
  if (RequestLog* const log = request->log(); log != nullptr)
    logged = log->draw(request->model(), request->version_number(), *request->signature(), *rows);
  Shadow* const shadow = request->entry().shadow.get();
  if (shadow == nullptr || !shadow->draws(version)) bind = nullptr;
  const auto committed = std::make_shared<const CommittedRows>(
      CommittedRows{.request = request,
                    .logged = std::move(logged),
                    .signature = request->signature(),
                    .kept_bytes = request->body_bytes() + bytes_of(**bound),
                    .bind = std::move(bind),
                    .encoding = encoding,
                    .answer = std::move(answer)});
  std::move(*rows).commit([committed](Result<BatchAnswers> answers) {
    committed->request->resume([committed, answers = std::move(answers)] { committed->finish(answers); });
  });
}

Result<std::vector<RestVersionStatus>> version_statuses(const ServedModels& models,
                                                        const RequestedModel& requested) {
  HEADRACE_TRY(const auto entry, models.find(requested.name));
  const LiveModel* const model = entry->live.get();
  std::optional<std::int64_t> wanted = requested.version;
  if (requested.label) {
    const auto labels = model->labels();
    const auto found = labels.find(*requested.label);
    if (found == labels.end())
      return Error{Code::kNotFound, concat("the model has no label ", printable_line(*requested.label, 128))};
    wanted = static_cast<std::int64_t>(found->second);
  }
  std::vector<RestVersionStatus> out;
  for (const VersionStatus& status : model->statuses()) {
    const auto number = static_cast<std::int64_t>(status.number);
    if (wanted && *wanted != number) continue;
    out.push_back({number, rest_state(status.state)});
    if (status.error)
      out.back().error =
          Error{status.error->code, "it could not be loaded; /models on the admin port says why"};
  }
  if (out.empty() && wanted) return Error{Code::kNotFound, concat("the model has no version ", *wanted)};
  return out;
}

std::vector<std::int64_t> ready_numbers(const LiveModel& model) {
  std::vector<std::int64_t> out;
  for (const auto& version : model.ready_versions())
    out.push_back(static_cast<std::int64_t>(version->number()));
  return out;
}

}  // namespace headrace
