#include "bindings/python/run.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <unordered_map>

#include "bindings/python/artifact.h"
#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/log/recover_segments.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/metrics/recover.h"
#include "headrace/track/console_log.h"
#include "headrace/track/recorder.h"
#include "headrace/track/run_keys.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

// Below the state folder.
constexpr std::string_view kMetricJournals = "/metrics";

struct Started {
  std::string root;
  std::string run_id;
  std::map<std::string, std::string> parameters;
  std::map<std::string, std::string> versions;
  std::vector<std::string> command_line;
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  std::optional<std::int64_t> from_step;
};

template <typename Add>
Status add_once(Artifact artifact, std::set<std::string>& recorded, const Add& add) {
  const std::string identity = concat(artifact.url, " ", artifact.version, " ", artifact.digest);
  if (recorded.contains(identity)) return {};
  HEADRACE_CHECK(add(std::move(artifact)));
  recorded.insert(identity);
  return {};
}

// A run of a user's program, with its metrics.
struct OpenRun {
  explicit OpenRun(RunRecorder started) : recorder(std::move(started)) {}
  ~OpenRun() { ends.request_stop(); }
  OpenRun(const OpenRun&) = delete;

  // Inputs and outputs are recorded once, however often the program names them.
  Status add_input(Artifact input) {
    const std::scoped_lock lock(recording);
    HEADRACE_CHECK(require_unfinished());
    return add_once(std::move(input), used,
                    [&](Artifact artifact) { return recorder.add_input(std::move(artifact)); });
  }
  Status add_output(Artifact output) {
    const std::scoped_lock lock(recording);
    HEADRACE_CHECK(require_unfinished());
    made.insert(output.url);
    return add_once(std::move(output), published,
                    [&](Artifact artifact) { return recorder.add_output(std::move(artifact)); });
  }
  // Records the place that an artifact's references point to: it is an input, unless the run made it itself.
  Status add_source(Artifact source) {
    {
      const std::scoped_lock lock(recording);
      if (made.contains(source.url)) return {};
    }
    return add_input(std::move(source));
  }

  // A reader of a finished run reads only what the record of its end names, so nothing may be added later.
  // REQUIRES: recording is held
  Status require_unfinished() const {
    if (!is_finished) return {};
    return Error{Code::kFailedPrecondition,
                 concat("the run ", recorder.run_id(), " has already finished, so this is not recorded")};
  }

  std::stop_source ends;
  std::mutex recording;  // guards the recorder, the three sets and is_finished
  RunRecorder recorder;
  std::set<std::string> made;  // URLs
  std::set<std::string> used;  // URL, version and digest
  std::set<std::string> published;
  bool is_finished = false;
  // Runs the journal's work and everything that waits for the store: metrics, the console, and journals of
  // earlier runs.
  Background background{4};
  std::shared_ptr<ConsoleLog> console;   // none if the program's output is not kept
  std::shared_ptr<MetricWriter> writer;  // destroyed first
};

Result<RunRecorder> start_record(StoreRegistry& stores, const Started& started, const CallOptions& call) {
  RunStart start{.command = "log", .command_line = started.command_line, .parameters = started.parameters};
  start.versions = started.versions;
  RecorderOptions options{.root_url = started.root, .run_id = started.run_id};
  options.rank = started.rank;
  options.ranks = started.ranks;
  options.has_output = false;
  options.continues_earlier = false;
  options.call = call;
  HEADRACE_TRY(const Location root, stores.open(started.root));
  return RunRecorder::start(stores, root, std::move(start), options);
}

Status open_writer(OpenRun& run, const Started& started, const std::string& state) {
  const RunRecorder& recorder = run.recorder;
  const Location log = recorder.root().at(concat(kMetricsPrefix, recorder.run_id(), "/", recorder.part()));
  MetricWriterOptions options{.journal_folder = concat(state, kMetricJournals, "/", recorder.part()),
                              .from_step = started.from_step};
  HEADRACE_TRY(run.writer, MetricWriter::open(log, std::move(options), run.background));
  return run.recorder.add_series({.name = "metrics", .url = recorded_url(log), .kind = "metric_segments"});
}

Result<std::unique_ptr<OpenRun>> open_run(const std::shared_ptr<StoreRegistry>& stores,
                                          const Started& started, const std::string& state,
                                          const std::stop_token& stop) {
  HEADRACE_TRY(RunRecorder recorder, start_record(*stores, started, {.stop = stop}));
  auto run = std::make_unique<OpenRun>(std::move(recorder));
  // The record says why the run failed to start.
  if (const Status opened = open_writer(*run, started, state); !opened)
    return run->recorder.finish(opened, {}).error();
  // Meanwhile, journals that earlier processes of this machine have left are recovered.
  run->background.add([stores, state, ends = run->ends.get_token()] {
    const auto open = [&](const std::string& url) { return stores->open(url); };
    recover_metrics(concat(state, kMetricJournals), open, {.stop = ends});
    recover_segments(concat(state, kSegmentJournals), open, {.stop = ends});
  });
  return run;
}

// REQUIRES: the GIL, which is released while the store is asked
std::unique_ptr<OpenRun> opened_run(const Started& started) {
  const std::string state = state_of_user();
  const std::shared_ptr<StoreRegistry> stores = stores_of(started.root);
  return value_of(
      run_interruptibly([&](const std::stop_token& stop) { return open_run(stores, started, state, stop); }));
}

// The sources are recorded before the version exists, the version after it.
Result<ArtifactVersion> logged(OpenRun& run, const ArtifactDraft& draft,
                               const std::vector<std::string>& aliases,
                               std::chrono::system_clock::time_point now, const CallOptions& call) {
  const Location& root = run.recorder.root();
  const std::string& id = run.recorder.run_id();
  for (const std::string& alias : aliases) HEADRACE_CHECK(check_artifact_alias(alias));
  std::vector<Artifact> sources = draft.sources();
  for (Artifact& source : sources) HEADRACE_CHECK(run.add_source(std::move(source)));
  HEADRACE_TRY(ArtifactVersion version, log_artifact(root, draft, id, now, call));
  HEADRACE_CHECK(run.add_output(recorded_artifact(root, version)));
  for (const std::string& alias : aliases)
    HEADRACE_CHECK(point_artifact_alias(root, version.name, alias, version.number, id));
  return version;
}

class PythonRun {
 public:
  PythonRun(const std::string& root, const std::string& run_id, std::map<std::string, std::string> parameters,
            std::map<std::string, std::string> versions, std::vector<std::string> command_line,
            std::uint64_t rank, std::uint64_t ranks, std::optional<std::int64_t> from_step)
      : open_("this run", opened_run({.root = root,
                                      .run_id = run_id,
                                      .parameters = std::move(parameters),
                                      .versions = std::move(versions),
                                      .command_line = std::move(command_line),
                                      .rank = rank,
                                      .ranks = ranks,
                                      .from_step = from_step})) {}

  std::string id() const { return open_.anywhere()->recorder.run_id(); }
  std::string part() const { return open_.anywhere()->recorder.part(); }
  std::string root() const { return recorded_url(open_.anywhere()->recorder.root()); }
  std::vector<std::string> remarks() const { return open_.anywhere()->recorder.remarks(); }

  // Programs call this function most, so it keeps the GIL. `numbers`: names → floats, ints or bools.
  void log(const nb::dict& numbers, std::int64_t step) {
    MetricWriter& writer = *open_.here()->writer;
    row_.clear();
    PyObject* name = nullptr;
    PyObject* number = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(numbers.ptr(), &position, &name, &number) != 0) {
      const double value = PyFloat_AsDouble(number);
      if (value == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
      row_.push_back({metric_of(writer, name), value});
    }
    writer.log(row_, step);
    remember_last();
  }

  /// Logs one point with the time that the caller gives.
  void log_at(const nb::str& name, double value, std::int64_t step, std::int64_t time_us) {
    MetricWriter& writer = *open_.here()->writer;
    row_.assign(1, {metric_of(writer, name.ptr()), value});
    writer.log(row_, step, time_us);
    remember_last();
  }

  /// After this, all points logged so far are in the store.
  void publish(double within_s) {
    OpenRun& open = *open_.here();
    const auto within = milliseconds_of(within_s);
    check(run_interruptibly([&](const std::stop_token&) { return open.writer->publish(within); }));
  }

  void flush() {
    OpenRun& open = *open_.here();
    check(run_interruptibly([&](const std::stop_token&) { return open.writer->flush(); }));
  }

  std::map<std::string, double> last_values() const {
    std::map<std::string, double> values;
    for (const auto& [name, metric] : numbers_) {
      if (metric < last_.size()) values[name] = last_[metric];
    }
    return values;
  }

  std::map<std::string, std::uint64_t> counts() const {
    const MetricWriter::Counts counts = open_.here()->writer->counts();
    return {
        {"dropped", counts.dropped}, {"waiting_bytes", counts.waiting_bytes}, {"segments", counts.segments}};
  }

  void add_input(const std::string& name, const std::string& url) {
    OpenRun& open = *open_.here();
    const Location location = open_location(url);
    check(run_interruptibly([&](const std::stop_token& stop) -> Status {
      HEADRACE_TRY(Artifact input, describe_artifact(location, {.call = {.stop = stop}}));
      input.name = name;
      return open.add_input(std::move(input));
    }));
  }

  void add_output(const std::string& name, const std::string& url) {
    OpenRun& open = *open_.here();
    const Location location = open_location(url);
    check(run_interruptibly([&](const std::stop_token& stop) -> Status {
      HEADRACE_TRY(Artifact output, describe_artifact(location, {.call = {.stop = stop}}));
      output.name = name;
      return open.add_output(std::move(output));
    }));
  }

  PythonArtifactVersion log_artifact(const PythonArtifactDraft& artifact,
                                     const std::vector<std::string>& aliases) {
    OpenRun& open = *open_.here();
    PythonArtifactDraft::Guarded& draft = artifact.here();
    const auto now = Environment{}.now;
    return {place(), value_of(run_interruptibly([&](const std::stop_token& stop) {
              const std::scoped_lock lock(draft.mutex);
              return logged(open, draft.draft, aliases, now(), {.stop = stop});
            }))};
  }

  PythonArtifactVersion use_artifact(const std::string& reference, const std::string& name) {
    OpenRun& open = *open_.here();
    return {place(), value_of(run_interruptibly([&](const std::stop_token& stop) -> Result<ArtifactVersion> {
              const Location& root = open.recorder.root();
              HEADRACE_TRY(ArtifactVersion version, find_artifact(root, reference, {.stop = stop}));
              Artifact input = recorded_artifact(root, version);
              if (!name.empty()) input.name = name;
              HEADRACE_CHECK(open.add_input(std::move(input)));
              return version;
            }))};
  }

  /// Records that the run logs media. Returns the URLs of the folder for their event files, and of the
  /// record of this part.
  std::pair<std::string, std::string> add_media() {
    OpenRun& open = *open_.here();
    using Urls = std::pair<std::string, std::string>;
    return value_of(run_interruptibly([&](const std::stop_token&) -> Result<Urls> {
      const std::scoped_lock lock(open.recording);
      HEADRACE_CHECK(open.require_unfinished());
      const RunRecorder& recorder = open.recorder;
      const Location folder =
          recorder.root().at(concat(kMediaPrefix, recorder.run_id(), "/", recorder.part()));
      const Location record =
          recorder.root().at(concat(kRunPartsPrefix, recorder.run_id(), "/", recorder.part()));
      HEADRACE_CHECK(
          open.recorder.add_series({.name = "media", .url = recorded_url(folder), .kind = "event_files"}));
      return Urls(folder.url.text(), record.url.text());
    }));
  }

  /// Records that the run writes event files into that folder.
  void add_event_files(const std::string& name, const std::string& url) {
    OpenRun& open = *open_.here();
    const Location folder = open_location(url);
    check(run_interruptibly([&](const std::stop_token&) -> Status {
      const std::scoped_lock lock(open.recording);
      HEADRACE_CHECK(open.require_unfinished());
      return open.recorder.add_series({.name = name, .url = recorded_url(folder), .kind = "event_files"});
    }));
  }

  /// From now on, the output of `print` is kept.
  void keep_console() {
    OpenRun& open = *open_.here();
    check(run_interruptibly([&](const std::stop_token&) -> Status {
      const std::scoped_lock lock(open.recording);
      HEADRACE_CHECK(open.require_unfinished());
      const RunRecorder& recorder = open.recorder;
      const Location folder =
          recorder.root().at(concat(kConsolePrefix, recorder.run_id(), "/", recorder.part()));
      HEADRACE_CHECK(open.recorder.add_series(
          {.name = "console", .url = recorded_url(folder), .kind = std::string(kConsoleKind)}));
      open.console = ConsoleLog::open(folder, recorder.run_id(), {}, open.background);
      return {};
    }));
  }

  /// REQUIRES: keep_console was called. Does not wait.
  void print(bool is_error_stream, std::string_view text) {
    open_.here()->console->add(is_error_stream ? ConsoleStream::kError : ConsoleStream::kOutput, text);
  }

  /// Writes the rest of the metrics, and the end of the record. `error`: why the run failed or was stopped;
  /// empty if it has finished. If metrics are left in the journal, the end of the record is written
  /// nonetheless, and the error of the metrics is raised. `parameters`: only those that are new or have
  /// changed.
  void finish(const std::string& error, bool is_stopped, std::map<std::string, double> metrics,
              std::map<std::string, std::string> parameters, double within_s) {
    OpenRun& open = *open_.here();
    const auto within = milliseconds_of(within_s);
    check(run_interruptibly([&](const std::stop_token&) -> Status {
      Status closed = open.writer->close(within);
      if (open.console) {
        Status kept = open.console->close();
        if (closed && !kept) closed = std::move(kept).error().in("keeping the last lines of the console");
      }
      Status outcome;
      if (!error.empty()) outcome = Error{is_stopped ? Code::kCancelled : Code::kUnknown, error};
      const std::scoped_lock lock(open.recording);
      open.is_finished = true;
      const Status recorded =
          open.recorder.finish(outcome, {.metrics = std::move(metrics), .parameters = std::move(parameters)});
      if (outcome && !recorded) return recorded;
      return closed;
    }));
  }

 private:
  // The URL of the root with its query, which the store driver needs.
  std::string place() const { return open_.anywhere()->recorder.root().url.text(); }

  void remember_last() {
    for (const MetricWriter::Value& each : row_) {
      if (each.metric >= last_.size())
        last_.resize(each.metric + 1, std::numeric_limits<double>::quiet_NaN());
      last_[each.metric] = each.value;
    }
  }

  std::uint32_t metric_of(MetricWriter& writer, PyObject* name) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(name, &size);
    if (text == nullptr) throw nb::python_error();
    const std::string_view view(text, static_cast<std::size_t>(size));
    if (const auto found = numbers_.find(view); found != numbers_.end()) return found->second;
    const std::uint32_t metric = value_of(writer.metric(view));
    numbers_.emplace(view, metric);
    return metric;
  }

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  const OfProcess<std::unique_ptr<OpenRun>> open_;
  // The GIL guards the following members.
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> numbers_;
  std::vector<MetricWriter::Value> row_;
  std::vector<double> last_;
};

}  // namespace

void bind_run(nb::module_& module) {
  nb::class_<PythonRun>(module, "Run")
      .def(nb::init<const std::string&, const std::string&, std::map<std::string, std::string>,
                    std::map<std::string, std::string>, std::vector<std::string>, std::uint64_t,
                    std::uint64_t, std::optional<std::int64_t>>(),
           nb::arg("root"), nb::arg("run_id"), nb::arg("parameters"), nb::arg("versions"),
           nb::arg("command_line"), nb::arg("rank"), nb::arg("ranks"), nb::arg("from_step") = nb::none())
      .def_prop_ro("id", &PythonRun::id)
      .def_prop_ro("part", &PythonRun::part)
      .def_prop_ro("root", &PythonRun::root)
      .def_prop_ro("remarks", &PythonRun::remarks)
      .def("log", &PythonRun::log, nb::arg("numbers"), nb::arg("step"))
      .def("log_at", &PythonRun::log_at, nb::arg("name"), nb::arg("value"), nb::arg("step"),
           nb::arg("time_us"))
      .def("publish", &PythonRun::publish, nb::arg("within_s"))
      .def("flush", &PythonRun::flush)
      .def("last_values", &PythonRun::last_values)
      .def("counts", &PythonRun::counts)
      .def("add_input", &PythonRun::add_input, nb::arg("name"), nb::arg("url"))
      .def("add_output", &PythonRun::add_output, nb::arg("name"), nb::arg("url"))
      .def("log_artifact", &PythonRun::log_artifact, nb::arg("artifact"), nb::arg("aliases"))
      .def("use_artifact", &PythonRun::use_artifact, nb::arg("reference"), nb::arg("name"))
      .def("add_media", &PythonRun::add_media)
      .def("add_event_files", &PythonRun::add_event_files, nb::arg("name"), nb::arg("url"))
      .def("keep_console", &PythonRun::keep_console)
      .def("print", &PythonRun::print, nb::arg("is_error_stream"), nb::arg("text"))
      .def("finish", &PythonRun::finish, nb::arg("error"), nb::arg("is_stopped"), nb::arg("metrics"),
           nb::arg("parameters"), nb::arg("within_s"));
}

}  // namespace headrace::python
