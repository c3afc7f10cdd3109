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

}  // namespace

void ModelRequest::count(unsigned status) const {
  metrics_.count(model_, protocol_, status, Clock::now() - received_);
  if (trace_) trace_->end(protocol_, model_, version_ ? version_->number() : 0, status);
}

Status ModelRequest::choose_signature(std::string_view name) {
  signature_ = version_->model().find(name);
  if (signature_ != nullptr) return {};
  std::vector<std::string> names;
  for (const ServedSignature& each : version_->model().signatures) names.push_back(each.name);
  return Error{Code::kInvalidArgument, concat("the model ", model_, " has no signature ",
                                              printable_line(name, 128), "; it has ", join(names, ", "))};
}

void find_version(std::shared_ptr<ModelRequest> request, const ServedModels& models,
                  const RequestedModel& requested, std::function<void()> next) {
  const auto model = models.find(requested.name);
  if (!model) return request->send_error(model.error());
  request->set_model(requested.name, *model);
  std::optional<std::uint64_t> number;
  if (requested.version) number = static_cast<std::uint64_t>(*requested.version);
  const ModelRequest::Clock::time_point deadline = request->deadline();
  (*model)->await(number, requested.label, deadline,
                  [request = std::move(request), next = std::move(next)](auto version) {
                    if (!version) return request->send_error(version.error());
                    request->set_version(*std::move(version));
                    next();
                  });
}

void run_rows(std::shared_ptr<ModelRequest> request, const BoundRequest& bound,
              std::function<Status(const BatchAnswers&)> answer) {
  ServedVersion& version = *request->version();
  Batcher& batcher =
      version.batcher(static_cast<std::size_t>(request->signature() - version.model().signatures.data()));
  auto rows = batcher.reserve(bound.rows(), bound.row(),
                              {.deadline = request->deadline(), .texts_bytes = bound.texts_bytes()});
  if (!rows) return request->send_error(rows.error(), batcher.expected_wait());
  if (const Status filled = bound.fill(*rows); !filled) return request->send_error(filled.error());
  if (RequestTrace* const trace = request->trace()) trace->mark("parse");
  std::move(*rows).commit(
      [request = std::move(request), answer = std::move(answer)](Result<BatchAnswers> answers) {
        if (!answers) return request->send_error(answers.error());
        if (RequestTrace* const trace = request->trace()) {
          trace->mark("queue", answers->front().outputs->begun);
          trace->mark("run");
        }
        if (const Status sent = answer(*answers); !sent) request->send_error(sent.error());
      });
}

Result<std::vector<RestVersionStatus>> version_statuses(const ServedModels& models,
                                                        const RequestedModel& requested) {
  HEADRACE_TRY(const LiveModel* const model, models.find(requested.name));
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
