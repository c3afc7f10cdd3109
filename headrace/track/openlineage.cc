#include "headrace/track/openlineage.h"

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kEventSchema =
    "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent";
constexpr std::string_view kNamespace = "headrace";

std::string producer_of(const RunRecord& run) {
  const auto version = run.start.versions.find("headrace");
  return concat("urn:headrace:", version == run.start.versions.end() ? "unknown" : version->second);
}

// RFC 9562, version 8: the digest's first bits, around version and variant.
std::string uuid_of(const RunRecord& run) {
  std::string digits = sha256_hex(as_bytes(
      concat("run ", run.id, " ", run.start.command, " ", run.start.output, " ", run.start.started)));
  digits[12] = '8';
  digits[16] = "89ab"[(digits[16] <= '9' ? digits[16] - '0' : digits[16] - 'a' + 10) % 4];
  return concat(digits.substr(0, 8), "-", digits.substr(8, 4), "-", digits.substr(12, 4), "-",
                digits.substr(16, 4), "-", digits.substr(20, 12));
}

std::string job_of(const RunRecord& run) {
  if (!run.start.output.empty()) return concat(run.start.command, " ", run.start.output);
  const auto parameters = run.parameters();
  const auto name = parameters.find("name");
  return name == parameters.end() || name->second.empty() ? run.start.command : name->second;
}

// `name`: the facet's type, with its version: "1-0-1/DatasetVersionDatasetFacet".
Json facet(const std::string& producer, std::string_view name, Json members) {
  const std::string_view type = name.substr(name.find('/') + 1);
  members["_producer"] = producer;
  members["_schemaURL"] = concat("https://openlineage.io/spec/facets/", name, ".json#/$defs/", type);
  return members;
}

// "s3://datasets/a" lies in the namespace "s3://datasets", "file:///a" in "file".
Json dataset_of(const Artifact& artifact, const std::string& producer, bool is_output) {
  const std::size_t begin = artifact.url.find("://");
  const bool is_file = artifact.url.starts_with("file://");
  const std::size_t slash =
      begin == std::string::npos ? begin : artifact.url.find('/', begin + std::string_view("://").size());
  Json facets = {{"datasetType", facet(producer, "1-0-1/DatasetTypeDatasetFacet",
                                       {{"datasetType", artifact.kind.empty() ? "object" : artifact.kind}})}};
  const std::string& version = artifact.digest.empty() ? artifact.version : artifact.digest;
  if (!version.empty())
    facets["version"] = facet(producer, "1-0-1/DatasetVersionDatasetFacet", {{"datasetVersion", version}});
  Json out = {{"namespace", is_file ? "file" : artifact.url.substr(0, slash)},
              {"name", slash == std::string::npos ? "/" : artifact.url.substr(is_file ? slash : slash + 1)},
              {"facets", std::move(facets)}};
  if (is_output && artifact.size_bytes > 0)
    out["outputFacets"] = {{"outputStatistics", facet(producer, "1-0-2/OutputStatisticsOutputDatasetFacet",
                                                      {{"size", artifact.size_bytes}})}};
  return out;
}

Json datasets_of(const std::vector<Artifact>& artifacts, const std::string& producer, bool is_output) {
  Json out = Json::array();
  for (const Artifact& artifact : artifacts) out.push_back(dataset_of(artifact, producer, is_output));
  return out;
}

std::string_view type_of_end(RunStatus status) {
  switch (status) {
    case RunStatus::kUnfinished:
      return "RUNNING";
    case RunStatus::kFinished:
      return "COMPLETE";
    case RunStatus::kFailed:
      return "FAIL";
    case RunStatus::kStopped:
      return "ABORT";
  }
  return "FAIL";
}

// The members that all events of a run share.
Json event_of(const RunRecord& run, const std::string& producer) {
  const auto version = run.start.versions.find("headrace");
  Json run_facets = {
      {"processing_engine",
       facet(producer, "1-1-1/ProcessingEngineRunFacet",
             {{"name", "Headrace"},
              {"version", version == run.start.versions.end() ? "unknown" : version->second}})}};
  const bool is_streaming = run.start.command == "serve";
  Json job_facets = {{"jobType", facet(producer, "2-0-4/JobTypeJobFacet",
                                       {{"processingType", is_streaming ? "STREAMING" : "BATCH"},
                                        {"integration", "HEADRACE"},
                                        {"jobType", run.start.command}})}};
  return {{"producer", producer},
          {"schemaURL", kEventSchema},
          {"run", {{"runId", uuid_of(run)}, {"facets", std::move(run_facets)}}},
          {"job", {{"namespace", kNamespace}, {"name", job_of(run)}, {"facets", std::move(job_facets)}}},
          {"inputs", datasets_of(run.inputs(), producer, false)},
          {"outputs", Json::array()}};
}

}  // namespace

std::vector<std::string> openlineage_events(const RunRecord& run) {
  const std::string producer = producer_of(run);
  Json start = event_of(run, producer);
  start["eventType"] = "START";
  start["eventTime"] = run.start.started;
  Json end = event_of(run, producer);
  end["eventType"] = type_of_end(run.status());
  end["eventTime"] = run.end ? run.end->ended : run.start.started;
  end["outputs"] = datasets_of(run.outputs(), producer, true);
  if (run.end && !run.end->error.empty())
    end["run"]["facets"]["errorMessage"] =
        facet(producer, "1-0-1/ErrorMessageRunFacet",
              {{"message", run.end->error}, {"programmingLanguage", "C++"}});
  return {start.dump(), end.dump()};
}

}  // namespace headrace
