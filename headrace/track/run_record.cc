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
constexpr std::string_view kInputFormat = "headrace.run.input";
constexpr std::string_view kOutputFormat = "headrace.run.output";
constexpr std::string_view kSeriesFormat = "headrace.run.series";
constexpr int kVersion = 2;

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

json artifact_to_json(const Artifact& artifact) {
  return {{"name", artifact.name},
          {"url", artifact.url},
          {"kind", artifact.kind},
          {"version", artifact.version},
          {"manifest", artifact.manifest},
          {"digest", artifact.digest},
          {"size_bytes", artifact.size_bytes}};
}

Artifact artifact_from_json(const json& from) {
  return {.url = from.at("url").get<std::string>(),
          .kind = from.at("kind").get<std::string>(),
          .version = from.at("version").get<std::string>(),
          .manifest = from.at("manifest").get<std::uint64_t>(),
          .digest = from.at("digest").get<std::string>(),
          .size_bytes = from.at("size_bytes").get<std::uint64_t>(),
          .name = from.value("name", std::string())};
}

json series_to_json(const RunSeries& series) {
  return {{"name", series.name}, {"url", series.url}, {"kind", series.kind}};
}

RunSeries series_from_json(const json& from) {
  return {from.at("name").get<std::string>(), from.at("url").get<std::string>(),
          from.at("kind").get<std::string>()};
}

template <typename Item>
json list_to_json(const std::vector<Item>& items, json (*to_json)(const Item&)) {
  json out = json::array();
  for (const Item& item : items) out.push_back(to_json(item));
  return out;
}

template <typename Item>
std::vector<Item> list_from_json(const json& from, Item (*from_json)(const json&)) {
  std::vector<Item> out;
  for (const json& item : from) out.push_back(from_json(item));
  return out;
}

std::string seal_artifact(std::string_view id, const Artifact& artifact, std::string_view format) {
  return seal({{"artifact", artifact_to_json(artifact)}}, format, id);
}

Result<Artifact> unseal_artifact(BytesView data, std::string_view format) {
  HEADRACE_TRY(const json from, unseal(data, format));
  return parse_guarded<Artifact>([&] { return artifact_from_json(from.at("artifact")); });
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
  const std::vector<Artifact>& later = end ? end->inputs : so_far.inputs;
  out.insert(out.end(), later.begin(), later.end());
  return out;
}

std::map<std::string, std::string> RunRecord::versions() const {
  std::map<std::string, std::string> out = start.versions;
  if (end) out.insert(end->versions.begin(), end->versions.end());
  return out;
}

std::vector<Artifact> RunRecord::outputs() const {
  const std::vector<Artifact>& recorded = end ? end->outputs : so_far.outputs;
  if (!recorded.empty()) return recorded;
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
               {"inputs", list_to_json(start.inputs, artifact_to_json)},
               {"output", start.output},
               {"started", start.started},
               {"resumed_from", start.resumed_from},
               {"rank", start.rank},
               {"ranks", start.ranks},
               {"remarks", start.remarks}},
              kStartFormat, id);
}

std::string serialize_run_end(std::string_view id, const RunEnd& end) {
  json metrics = json::object();
  for (const auto& [name, number] : end.metrics) metrics[name] = number_to_json<json>(number);
  return seal({{"status", run_status_name(end.status)},
               {"error", end.error},
               {"inputs", list_to_json(end.inputs, artifact_to_json)},
               {"outputs", list_to_json(end.outputs, artifact_to_json)},
               {"series", list_to_json(end.series, series_to_json)},
               {"metrics", std::move(metrics)},
               {"counts", end.counts},
               {"versions", end.versions},
               {"ended", end.ended},
               {"seconds", number_to_json<json>(end.seconds)}},
              kEndFormat, id);
}

std::string serialize_run_input(std::string_view id, const Artifact& input) {
  return seal_artifact(id, input, kInputFormat);
}

std::string serialize_run_output(std::string_view id, const Artifact& output) {
  return seal_artifact(id, output, kOutputFormat);
}

std::string serialize_run_series(std::string_view id, const RunSeries& series) {
  return seal({{"series", series_to_json(series)}}, kSeriesFormat, id);
}

Result<Artifact> parse_run_input(BytesView data) { return unseal_artifact(data, kInputFormat); }

Result<Artifact> parse_run_output(BytesView data) { return unseal_artifact(data, kOutputFormat); }

Result<RunSeries> parse_run_series(BytesView data) {
  HEADRACE_TRY(const json from, unseal(data, kSeriesFormat));
  return parse_guarded<RunSeries>([&] { return series_from_json(from.at("series")); });
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
                    .inputs = list_from_json(from.at("inputs"), artifact_from_json),
                    .output = from.at("output").get<std::string>(),
                    .started = from.at("started").get<std::string>(),
                    .resumed_from = from.at("resumed_from").get<std::string>(),
                    .rank = from.value("rank", std::uint64_t{0}),
                    .ranks = from.value("ranks", std::uint64_t{1}),
                    .remarks = from.value("remarks", std::vector<std::string>())};
  });
}

Result<RunEnd> parse_run_end(BytesView data) {
  HEADRACE_TRY(const json from, unseal(data, kEndFormat));
  return parse_guarded<RunEnd>([&] {
    RunEnd end = {.status = status_from_name(from.at("status").get<std::string>()),
                  .error = from.at("error").get<std::string>(),
                  .inputs = list_from_json(from.at("inputs"), artifact_from_json),
                  .outputs = list_from_json(from.at("outputs"), artifact_from_json),
                  .counts = from.at("counts").get<std::map<std::string, std::uint64_t>>(),
                  .versions = from.at("versions").get<std::map<std::string, std::string>>(),
                  .ended = from.at("ended").get<std::string>(),
                  .seconds = number_from_json(from.at("seconds")),
                  .series = list_from_json(from.value("series", json::array()), series_from_json)};
    for (const auto& [name, number] : from.at("metrics").items())
      end.metrics[name] = number_from_json(number);
    return end;
  });
}

}  // namespace headrace
