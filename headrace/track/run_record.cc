#include "headrace/track/run_record.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/track/json_number.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

constexpr std::string_view kStartFormat = "headrace.run.start";
constexpr std::string_view kEndFormat = "headrace.run.end";
constexpr std::uint64_t kVersion = 1;
constexpr std::string_view kComplaint = "the record is not as docs/formats/run-record.md says";

void redact_texts(Json& value) {
  if (value.is_string()) {
    value = redact_secrets(value.text());
  } else if (value.is_array()) {
    for (Json& inner : value.values()) redact_texts(inner);
  } else if (value.is_object()) {
    for (auto& [name, inner] : value.members()) redact_texts(inner);
  }
}

std::string seal(Json document, std::string_view format, std::string_view run_id) {
  redact_texts(document);
  document["format"] = format;
  document["version"] = kVersion;
  document["run"] = run_id;
  return seal_json(document.dump() + "\n");
}

Result<Json> unseal(BytesView data, std::string_view format) {
  const Json document = parse_json(as_text(data)).value_or(Json());
  if (!document.is_object() || document["format"] != format)
    return Error{Code::kDataLoss, concat("the object is no ", format, "; it was truncated or overwritten")};
  const Json& version = document["version"];
  if (version.is_unsigned() && version.as<std::uint64_t>() > kVersion) {
    return Error{Code::kUnimplemented,
                 concat("the ", format, " has version ", version.dump(), "; this Headrace reads up to ",
                        kVersion, ": install a newer one")};
  }
  if (!is_sealed_json(as_text(data)))
    return Error{Code::kDataLoss, concat("the checksum of the ", format, " does not match: it was altered")};
  return document;
}

Json artifacts_to_json(const std::vector<Artifact>& artifacts) {
  Json out = Json::array();
  for (const Artifact& artifact : artifacts) {
    out.push_back({{"url", artifact.url},
                   {"kind", artifact.kind},
                   {"version", artifact.version},
                   {"manifest", artifact.manifest},
                   {"digest", artifact.digest},
                   {"size_bytes", artifact.size_bytes}});
  }
  return out;
}

std::vector<Artifact> artifacts_from_json(const Json& from) {
  std::vector<Artifact> out;
  for (const Json& artifact : from.values()) {
    out.push_back({artifact.get<std::string>("url"), artifact.get<std::string>("kind"),
                   artifact.get<std::string>("version"), artifact.get<std::uint64_t>("manifest"),
                   artifact.get<std::string>("digest"), artifact.get<std::uint64_t>("size_bytes")});
  }
  return out;
}

RunStatus status_from_name(std::string_view name) {
  if (name == run_status_name(RunStatus::kFinished)) return RunStatus::kFinished;
  return name == run_status_name(RunStatus::kStopped) ? RunStatus::kStopped : RunStatus::kFailed;
}

}  // namespace

std::string_view run_status_name(RunStatus status) {
  switch (status) {
    case RunStatus::kUnfinished:
      return "running or killed";
    case RunStatus::kFinished:
      return "finished";
    case RunStatus::kFailed:
      return "failed";
    case RunStatus::kStopped:
      return "stopped";
  }
  return "failed";
}

std::vector<Artifact> RunRecord::inputs() const {
  std::vector<Artifact> out = start.inputs;
  if (end) out.insert(out.end(), end->inputs.begin(), end->inputs.end());
  return out;
}

std::map<std::string, std::string> RunRecord::versions() const {
  std::map<std::string, std::string> out = start.versions;
  if (end) out.insert(end->versions.begin(), end->versions.end());
  return out;
}

std::vector<Artifact> RunRecord::outputs() const {
  if (end && !end->outputs.empty()) return end->outputs;
  const bool may_have_written = status() == RunStatus::kUnfinished || status() == RunStatus::kStopped;
  if (!may_have_written || start.output.empty()) return {};
  return {{.url = start.output, .kind = "folder"}};
}

std::string serialize_run_start(std::string_view id, const RunStart& start) {
  Json parameters = Json::object();
  for (const auto& [name, value] : start.parameters) {
    parameters[name] = names_a_secret(name) ? "***" : value;
  }
  return seal({{"command", start.command},
               {"command_line", redact_command_line(start.command_line)},
               {"parameters", std::move(parameters)},
               {"versions", start.versions},
               {"host", start.host},
               {"inputs", artifacts_to_json(start.inputs)},
               {"output", start.output},
               {"started", start.started},
               {"resumed_from", start.resumed_from}},
              kStartFormat, id);
}

std::string serialize_run_end(std::string_view id, const RunEnd& end) {
  Json metrics = Json::object();
  for (const auto& [name, number] : end.metrics) metrics[name] = number_to_json(number);
  return seal({{"status", run_status_name(end.status)},
               {"error", end.error},
               {"inputs", artifacts_to_json(end.inputs)},
               {"outputs", artifacts_to_json(end.outputs)},
               {"metrics", std::move(metrics)},
               {"counts", end.counts},
               {"versions", end.versions},
               {"ended", end.ended},
               {"seconds", number_to_json(end.seconds)}},
              kEndFormat, id);
}

Result<RunStart> parse_run_start(BytesView data) {
  HEADRACE_TRY(const Json document, unseal(data, kStartFormat));
  using Texts = std::map<std::string, std::string>;
  return read_document(document, kComplaint, [](const Json& from) -> Result<RunStart> {
    return RunStart{.command = from.get<std::string>("command"),
                    .command_line = from.get<std::vector<std::string>>("command_line"),
                    .parameters = from.get<Texts>("parameters"),
                    .versions = from.get<Texts>("versions"),
                    .host = from.get<Texts>("host"),
                    .inputs = artifacts_from_json(from.at("inputs")),
                    .output = from.get<std::string>("output"),
                    .started = from.get<std::string>("started"),
                    .resumed_from = from.get<std::string>("resumed_from")};
  });
}

Result<RunEnd> parse_run_end(BytesView data) {
  HEADRACE_TRY(const Json document, unseal(data, kEndFormat));
  return read_document(document, kComplaint, [](const Json& from) -> Result<RunEnd> {
    RunEnd end = {.status = status_from_name(from.get<std::string>("status")),
                  .error = from.get<std::string>("error"),
                  .inputs = artifacts_from_json(from.at("inputs")),
                  .outputs = artifacts_from_json(from.at("outputs")),
                  .counts = from.get<std::map<std::string, std::uint64_t>>("counts"),
                  .versions = from.get<std::map<std::string, std::string>>("versions"),
                  .ended = from.get<std::string>("ended"),
                  .seconds = number_from_json(from.at("seconds"))};
    for (const auto& [name, number] : from.at("metrics").members())
      end.metrics[name] = number_from_json(number);
    return end;
  });
}

}  // namespace headrace
