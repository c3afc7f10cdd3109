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
constexpr std::string_view kInputFormat = "headrace.run.input";
constexpr std::string_view kOutputFormat = "headrace.run.output";
constexpr std::string_view kSeriesFormat = "headrace.run.series";
constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kMostItems = 10'000;  // in one list of a record
constexpr std::string_view kComplaint = "the record is not as docs/formats/run-record.md says";

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
    return Error{Code::kDataLoss,
                 concat("the object is not a ", format, "; it was truncated or overwritten")};
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

Json artifact_to_json(const Artifact& artifact) {
  return {{"name", artifact.name},
          {"url", artifact.url},
          {"kind", artifact.kind},
          {"version", artifact.version},
          {"manifest", artifact.manifest},
          {"digest", artifact.digest},
          {"size_bytes", artifact.size_bytes}};
}

Artifact artifact_from_json(const Json& from) {
  return {.url = from.get<std::string>("url"),
          .kind = from.get<std::string>("kind"),
          .version = from.get<std::string>("version"),
          .manifest = from.get<std::uint64_t>("manifest"),
          .digest = from.get<std::string>("digest"),
          .size_bytes = from.get<std::uint64_t>("size_bytes"),
          .name = from.get_or("name", "")};
}

Json series_to_json(const RunSeries& series) {
  return {{"name", series.name}, {"url", series.url}, {"kind", series.kind}};
}

RunSeries series_from_json(const Json& from) {
  return {from.get<std::string>("name"), from.get<std::string>("url"), from.get<std::string>("kind")};
}

template <typename Item>
Json list_to_json(const std::vector<Item>& items, Json (*to_json)(const Item&)) {
  Json out = Json::array();
  for (const Item& item : items) out.push_back(to_json(item));
  return out;
}

template <typename Item>
std::vector<Item> list_from_json(const Json& from, Item (*from_json)(const Json&)) {
  if (from.values().size() > kMostItems)
    throw JsonError(concat("a list has more than ", kMostItems, " items"));
  std::vector<Item> out;
  for (const Json& item : from.values()) out.push_back(from_json(item));
  return out;
}

std::string seal_artifact(std::string_view id, const Artifact& artifact, std::string_view format) {
  return seal({{"artifact", artifact_to_json(artifact)}}, format, id);
}

Result<Artifact> unseal_artifact(BytesView data, std::string_view format) {
  HEADRACE_TRY(const Json document, unseal(data, format));
  return read_document(document, kComplaint, [](const Json& from) -> Result<Artifact> {
    return artifact_from_json(from.at("artifact"));
  });
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

std::map<std::string, std::string> RunRecord::parameters() const {
  std::map<std::string, std::string> out = end ? end->parameters : std::map<std::string, std::string>();
  out.insert(start.parameters.begin(), start.parameters.end());
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
  return seal({{"command", start.command},
               {"command_line", redact_command_line(start.command_line)},
               {"parameters", start.parameters},
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
  Json metrics = Json::object();
  for (const auto& [name, number] : end.metrics) metrics[name] = number_to_json(number);
  Json document = {{"status", run_status_name(end.status)},
                   {"error", end.error},
                   {"inputs", list_to_json(end.inputs, artifact_to_json)},
                   {"outputs", list_to_json(end.outputs, artifact_to_json)},
                   {"series", list_to_json(end.series, series_to_json)},
                   {"metrics", std::move(metrics)},
                   {"counts", end.counts},
                   {"versions", end.versions},
                   {"ended", end.ended},
                   {"seconds", number_to_json(end.seconds)}};
  if (!end.parameters.empty()) document["parameters"] = end.parameters;
  return seal(std::move(document), kEndFormat, id);
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
  HEADRACE_TRY(const Json document, unseal(data, kSeriesFormat));
  return read_document(document, kComplaint, [](const Json& from) -> Result<RunSeries> {
    return series_from_json(from.at("series"));
  });
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
                    .inputs = list_from_json(from.at("inputs"), artifact_from_json),
                    .output = from.get<std::string>("output"),
                    .started = from.get<std::string>("started"),
                    .resumed_from = from.get<std::string>("resumed_from"),
                    .rank = from.get_or<std::uint64_t>("rank", 0),
                    .ranks = from.get_or<std::uint64_t>("ranks", 1),
                    .remarks = from.get_or("remarks", std::vector<std::string>())};
  });
}

Result<RunEnd> parse_run_end(BytesView data) {
  HEADRACE_TRY(const Json document, unseal(data, kEndFormat));
  return read_document(document, kComplaint, [](const Json& from) -> Result<RunEnd> {
    RunEnd end = {.status = status_from_name(from.get<std::string>("status")),
                  .error = from.get<std::string>("error"),
                  .inputs = list_from_json(from.at("inputs"), artifact_from_json),
                  .outputs = list_from_json(from.at("outputs"), artifact_from_json),
                  .counts = from.get<std::map<std::string, std::uint64_t>>("counts"),
                  .versions = from.get<std::map<std::string, std::string>>("versions"),
                  .ended = from.get<std::string>("ended"),
                  .seconds = number_from_json(from.at("seconds"))};
    if (from.contains("series")) end.series = list_from_json(from.at("series"), series_from_json);
    end.parameters = from.get_or("parameters", end.parameters);
    for (const auto& [name, number] : from.at("metrics").members())
      end.metrics[name] = number_from_json(number);
    return end;
  });
}

}  // namespace headrace
