#include "headrace/cli/servers/serve/models_status.h"

#include <cmath>

#include "headrace/base/text.h"
#include "headrace/cli/servers/serve/prometheus_text.h"

namespace headrace {
namespace {

Json versions_json(const LiveModel& model) {
  Json out = Json::array();
  for (const VersionStatus& status : model.statuses()) {
    Json version = {{"number", status.number}, {"state", version_state_name(status.state)}};
    if (status.error) version["error"] = status.error->message;
    out.push_back(std::move(version));
  }
  return out;
}

Json version_json(const VersionName& version) {
  if (const auto* const number = std::get_if<std::uint64_t>(&version)) return *number;
  return std::get<std::string>(version);
}

constexpr double kPercent = 100;

std::string_view release_state(const LiveModel& model, const VersionName& version) {
  const auto found = model.find(version);
  if (found) return "in force";
  return found.error().code == Code::kNotFound ? "no such version" : "not ready";
}

Json shadow_json(const Shadow& shadow, const LiveModel& model) {
  const Shadow::Counts counts = shadow.counts();
  Json out = {{"version", version_json(shadow.options().version)},
              {"state", release_state(model, shadow.options().version)},
              {"fraction", static_cast<double>(shadow.options().fraction) / kPercent},
              {"requests", counts.requests},
              {"dropped", counts.dropped},
              {"failed", counts.failed},
              {"rows", counts.difference.rows},
              {"rows_that_differ", counts.difference.rows_that_differ},
              {"largest_difference", counts.difference.largest}};
  if (counts.last_error) out["last_error"] = *counts.last_error;
  return out;
}

Json canary_json(const Canary& canary, const LiveModel& model) {
  const Canary::Counts counts = canary.counts();
  const CanaryOptions& options = canary.options();
  Json out = {{"version", version_json(options.version)},
              {"weight", static_cast<double>(options.weight) / kPercent},
              {"state", counts.withdrawn ? "withdrawn" : release_state(model, options.version)},
              {"requests", counts.requests},
              {"failed", counts.failed},
              {"slow", counts.slow},
              {"rejected", counts.rejected}};
  if (counts.withdrawn) out["reason"] = *counts.withdrawn;
  return out;
}

std::string canary_metrics(const ModelTable& table) {
  std::string requests, withdrawn;
  for (const auto& [name, entry] : table.models) {
    if (!entry->canary) continue;
    const Canary::Counts counts = entry->canary->counts();
    const auto add = [&, model = prometheus::label("model", name)](std::string_view outcome,
                                                                   std::uint64_t count) {
      requests +=
          concat("headrace_serve_canary_requests_total{", model, ",outcome=\"", outcome, "\"} ", count, "\n");
    };
    add("answered", counts.requests - counts.failed);
    add("failed", counts.failed);
    add("rejected", counts.rejected);
    withdrawn += concat("headrace_serve_canary_withdrawn{", prometheus::label("model", name), "} ",
                        counts.withdrawn ? 1 : 0, "\n");
  }
  std::string out;
  prometheus::add_type("headrace_serve_canary_requests_total", "counter",
                       "requests that the canary's version got", out);
  out += requests;
  prometheus::add_type("headrace_serve_canary_withdrawn", "gauge", "1 if the canary has passed a bound", out);
  return out + withdrawn;
}

std::string shadow_metrics(const ModelTable& table) {
  std::string requests, rows, differing, largest;
  for (const auto& [name, entry] : table.models) {
    if (!entry->shadow) continue;
    const Shadow::Counts counts = entry->shadow->counts();
    const std::string model = prometheus::label("model", name);
    const auto add = [&](std::string_view outcome, std::uint64_t count) {
      requests +=
          concat("headrace_serve_shadow_requests_total{", model, ",outcome=\"", outcome, "\"} ", count, "\n");
    };
    add("compared", counts.requests);
    add("dropped", counts.dropped);
    add("failed", counts.failed);
    const OutputDifference& difference = counts.difference;
    rows += concat("headrace_serve_shadow_rows_total{", model, "} ", difference.rows, "\n");
    differing +=
        concat("headrace_serve_shadow_differing_rows_total{", model, "} ", difference.rows_that_differ, "\n");
    const std::string number = std::isinf(difference.largest) ? "+Inf" : concat(difference.largest);
    largest += concat("headrace_serve_shadow_largest_difference{", model, "} ", number, "\n");
  }
  std::string out;
  prometheus::add_type("headrace_serve_shadow_requests_total", "counter", "requests that a shadow got", out);
  out += requests;
  prometheus::add_type("headrace_serve_shadow_rows_total", "counter", "rows that were compared", out);
  out += rows;
  prometheus::add_type("headrace_serve_shadow_differing_rows_total", "counter", "rows that differ", out);
  out += differing;
  prometheus::add_type("headrace_serve_shadow_largest_difference", "gauge",
                       "largest absolute difference of two numbers", out);
  return out + largest;
}

}  // namespace

Json models_json(const ServedModels& models) {
  const auto table = models.table();
  Json out = Json::object();
  for (const auto& [name, entry] : table->models) {
    out[name] = {{"versions", versions_json(*entry->live)}, {"labels", entry->live->labels()}};
    if (entry->canary) out[name]["canary"] = canary_json(*entry->canary, *entry->live);
    if (entry->shadow) out[name]["shadow"] = shadow_json(*entry->shadow, *entry->live);
  }
  if (const auto& status = table->configuration) {
    Json about = {{"place", status->place}, {"is_current", !status->problem}, {"changes", status->changes}};
    if (status->problem) about["problem"] = *status->problem;
    about["coming"] = Json::object();
    for (const auto& [name, model] : table->coming) about["coming"][name] = versions_json(*model);
    out["/configuration"] = std::move(about);
  }
  return out;
}

std::string release_metrics(const ServedModels& models) {
  const auto table = models.table();
  std::string out = canary_metrics(*table) + shadow_metrics(*table);
  if (const auto& status = table->configuration) {
    prometheus::add_type("headrace_serve_configuration_is_current", "gauge",
                         "1 if the current configuration file is in force", out);
    out += concat("headrace_serve_configuration_is_current ", status->problem ? 0 : 1, "\n");
    prometheus::add_type("headrace_serve_configuration_changes_total", "counter",
                         "changes of the configuration file that came into force", out);
    out += concat("headrace_serve_configuration_changes_total ", status->changes, "\n");
  }
  return out;
}

}  // namespace headrace
