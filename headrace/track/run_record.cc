#include "headrace/track/run_record.h"

#include <nlohmann/json.hpp>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/record/sealed_json.h"
#include "headrace/track/json_number.h"
#include "headrace/track/redact.h"

namespace headrace {
namespace {

using nlohmann::json;

constexpr std::string_view kStartFormat = "headrace.run.start";
constexpr std::string_view kEndFormat = "headrace.run.end";
constexpr int kVersion = 1;

void redact_texts(json& value) {
  if (value.is_string()) value = redact_secrets(value.get<std::string>());
  if (value.is_structured()) {
    for (json& inner : value) redact_texts(inner);
  }
}

std::string seal(json document, std::string_view format, std::string_view run_id) {
  redact_texts(document);
  document["format"] = format;
  document["version"] = kVersion;
  document["run"] = run_id;
  return seal_json(document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
}

Result<json> unseal(BytesView data, std::string_view format) {
  HEADRACE_CHECK(check_json_depth(as_text(data)));
  json document = json::parse(as_text(data), nullptr, false);
  if (!document.is_object() || document.value("format", json()) != format)
    return Error{Code::kDataLoss, concat("the object is no ", format, "; it was truncated or overwritten")};
  const json version = document.value("version", json());
  if (version.is_number_integer() && version > kVersion) {
    return Error{Code::kUnimplemented,
                 concat("the ", format, " has version ", version.dump(), "; this Headrace reads up to ",
                        kVersion, ": install a newer one")};
  }
  if (!is_sealed_json(as_text(data)))
    return Error{Code::kDataLoss, concat("the checksum of the ", format, " does not match: it was altered")};
  return document;
}

// nlohmann reports a missing or mistyped field by an exception.
template <typename T, typename Parse>
Result<T> parse_guarded(const Parse& parse) {
  try {
    return parse();
  } catch (const json::exception& exception) {
    return Error{Code::kDataLoss,
                 concat("the record is not as docs/formats/run-record.md says: ", exception.what())};
  }
}

json artifacts_to_json(const std::vector<Artifact>& artifacts) {
  json out = json::array();
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

std::vector<Artifact> artifacts_from_json(const json& from) {
  std::vector<Artifact> out;
  for (const json& artifact : from) {
    out.push_back({artifact.at("url").get<std::string>(), artifact.at("kind").get<std::string>(),
                   artifact.at("version").get<std::string>(), artifact.at("manifest").get<std::uint64_t>(),
                   artifact.at("digest").get<std::string>(), artifact.at("size_bytes").get<std::uint64_t>()});
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
  json parameters = json::object();
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
  json metrics = json::object();
  for (const auto& [name, number] : end.metrics) metrics[name] = number_to_json<json>(number);
  return seal({{"status", run_status_name(end.status)},
               {"error", end.error},
               {"inputs", artifacts_to_json(end.inputs)},
               {"outputs", artifacts_to_json(end.outputs)},
               {"metrics", std::move(metrics)},
               {"counts", end.counts},
               {"versions", end.versions},
               {"ended", end.ended},
               {"seconds", number_to_json<json>(end.seconds)}},
              kEndFormat, id);
}

Result<RunStart> parse_run_start(BytesView data) {
  HEADRACE_TRY(const json from, unseal(data, kStartFormat));
  using Texts = std::map<std::string, std::string>;
  return parse_guarded<RunStart>([&] {
    return RunStart{.command = from.at("command").get<std::string>(),
                    .command_line = from.at("command_line").get<std::vector<std::string>>(),
                    .parameters = from.at("parameters").get<Texts>(),
                    .versions = from.at("versions").get<Texts>(),
                    .host = from.at("host").get<Texts>(),
                    .inputs = artifacts_from_json(from.at("inputs")),
                    .output = from.at("output").get<std::string>(),
                    .started = from.at("started").get<std::string>(),
                    .resumed_from = from.at("resumed_from").get<std::string>()};
  });
}

Result<RunEnd> parse_run_end(BytesView data) {
  HEADRACE_TRY(const json from, unseal(data, kEndFormat));
  return parse_guarded<RunEnd>([&] {
    RunEnd end = {.status = status_from_name(from.at("status").get<std::string>()),
                  .error = from.at("error").get<std::string>(),
                  .inputs = artifacts_from_json(from.at("inputs")),
                  .outputs = artifacts_from_json(from.at("outputs")),
                  .counts = from.at("counts").get<std::map<std::string, std::uint64_t>>(),
                  .versions = from.at("versions").get<std::map<std::string, std::string>>(),
                  .ended = from.at("ended").get<std::string>(),
                  .seconds = number_from_json(from.at("seconds"))};
    for (const auto& [name, number] : from.at("metrics").items())
      end.metrics[name] = number_from_json(number);
    return end;
  });
}

}  // namespace headrace
