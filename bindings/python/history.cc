#include "bindings/python/history.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/history/history.h"
#include "headrace/track/recorder.h"
#include "headrace/track/runs.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

nb::list artifacts_to_python(const std::vector<Artifact>& artifacts) {
  nb::list out;
  for (const Artifact& artifact : artifacts) out.append(nb::make_tuple(artifact.name, artifact.url));
  return out;
}

nb::dict texts_to_python(const std::map<std::string, std::string>& texts) {
  nb::dict out;
  for (const auto& [name, text] : texts) out[name.c_str()] = text;
  return out;
}

nb::dict record_to_python(const RunRecord& run) {
  nb::dict out;
  out["id"] = run.id;
  out["command"] = run.start.command;
  out["command_line"] = join(run.start.command_line, " ");
  out["started"] = run.start.started;
  out["ended"] = run.end ? run.end->ended : "";
  out["status"] = std::string(run.end ? run_status_name(run.end->status) : "");
  out["error"] = run.end ? run.end->error : "";
  out["parameters"] = texts_to_python(run.parameters());
  out["versions"] = texts_to_python(run.versions());
  out["inputs"] = artifacts_to_python(run.inputs());
  out["outputs"] = artifacts_to_python(run.outputs());
  nb::dict metrics;
  if (run.end) {
    for (const auto& [name, value] : run.end->metrics) metrics[name.c_str()] = value;
  }
  out["metrics"] = metrics;
  bool has_series = false;
  nb::list parts;
  for (const RunPart& part : run.parts) {
    parts.append(nb::make_tuple(part.name, part.end.has_value()));
    has_series = has_series || !series_of(part).empty();
  }
  out["has_series"] = has_series;
  out["parts"] = parts;
  return out;
}

// Returns the records of these runs, and why others could not be read.
nb::tuple run_records(const std::string& url, const std::vector<std::string>& ids) {
  const Location root = open_location(url);
  const RunList list = value_of(
      run_interruptibly([&](const std::stop_token& stop) { return read_runs(root, ids, {.stop = stop}); }));
  nb::list runs;
  for (const RunRecord& run : list.runs) runs.append(record_to_python(run));
  return nb::make_tuple(runs, list.damaged);
}

// A record names places without the query of the root's URL, which holds options of the store driver.
Result<Location> open_recorded(StoreRegistry& stores, const Location& root, const std::string& url) {
  const std::string below = concat(recorded_url(root), "/");
  if (url.starts_with(below)) return root.at(std::string_view(url).substr(below.size()));
  return stores.open(url);
}

using Summary = std::tuple<std::string, std::uint64_t, std::uint64_t, std::int64_t, double>;
using Points = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<double>>;

Result<RunRecord> newest_run(const Location& root, const CallOptions& call) {
  HEADRACE_TRY(RunList newest, list_runs(root, 1, call));
  if (!newest.runs.empty()) return std::move(newest.runs.front());
  if (!newest.damaged.empty()) return Error{Code::kDataLoss, newest.damaged.front()};
  return Error{Code::kNotFound, concat("no run is recorded in ", root.describe())};
}

class PythonHistory {
 public:
  PythonHistory(const std::string& url, std::string run) : metrics_(recorded_metrics(url, run)) {}

  // For each metric: name, rank, number of points, step and value of the last point logged.
  std::vector<Summary> summaries() const {
    std::vector<Summary> out;
    const auto found =
        value_of(run_interruptibly([&](const std::stop_token&) { return metrics_.summaries(); }));
    for (const MetricSummary& metric : found)
      out.emplace_back(metric.name, metric.rank, metric.points, metric.last_step, metric.last);
    return out;
  }

  // Steps, times in microseconds since 1970, and values, in the order in which they were logged.
  Points points(const std::string& name, std::uint64_t rank) const {
    MetricSeries series =
        value_of(run_interruptibly([&](const std::stop_token&) { return metrics_.read(name, rank); }));
    return {std::move(series.steps), std::move(series.times_us), std::move(series.values)};
  }

 private:
  RunMetrics metrics_;
};

}  // namespace

RunMetrics recorded_metrics(const std::string& url, std::string& run) {
  const Location root = open_location(url);
  const std::shared_ptr<StoreRegistry> stores = stores_of(url);
  return value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<RunMetrics> {
    const CallOptions call{.stop = stop};
    HEADRACE_TRY(const RunRecord record, run.empty() ? newest_run(root, call) : read_run(root, run, call));
    run = record.id;
    // The metrics keep the function, and call it later.
    return metrics_of(record,
                      {.open = [&](const std::string& text) { return open_recorded(*stores, root, text); }});
  }));
}

void bind_history(nb::module_& module) {
  module.def("run_records", &run_records, nb::arg("url"), nb::arg("ids"));
  nb::class_<PythonHistory>(module, "RunHistory")
      .def(nb::init<const std::string&, std::string>(), nb::arg("url"), nb::arg("run"))
      .def("summaries", &PythonHistory::summaries)
      .def("points", &PythonHistory::points, nb::arg("name"), nb::arg("rank"));
}

}  // namespace headrace::python
