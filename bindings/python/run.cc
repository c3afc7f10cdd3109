#include "bindings/python/run.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <unordered_map>

#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/metrics/metric_writer.h"
#include "headrace/metrics/recover.h"
#include "headrace/track/recorder.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

constexpr std::string_view kMetricsFolder = "/metrics";

std::string metrics_state(const Environment& environment) {
  const auto state = state_folder(environment);
  if (!state)
    raise({Code::kFailedPrecondition,
           "metrics are kept on this machine until they are in the store: set HOME, or "
           "XDG_STATE_HOME to a folder"});
  return concat(*state, kMetricsFolder);
}

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

// A run of a program of the user's, with its metrics.
struct OpenRun {
  explicit OpenRun(const Started& started)
      : environment(Environment::capture()),
        stores(stores_of(started.root)),
        recorder(start_record(*stores, started)),
        writer(open_writer(started)) {
    check(recorder.add_series(
        {.name = "metrics", .url = recorded_url(writer->location()), .kind = "metric_segments"}));
    // Meanwhile, numbers that earlier processes of this machine have left go to their places.
    background.add([state = metrics_state(environment), stores = stores, stop = ends.get_token()] {
      recover_metrics(state, [&](const std::string& url) { return stores->open(url); }, {.stop = stop});
    });
  }
  ~OpenRun() { ends.request_stop(); }
  OpenRun(const OpenRun&) = delete;

  static RunRecorder start_record(StoreRegistry& stores, const Started& started) {
    RunStart start{.command = "log", .command_line = started.command_line, .parameters = started.parameters};
    start.versions = started.versions;
    RecorderOptions options{.root_url = started.root, .run_id = started.run_id};
    options.rank = started.rank;
    options.ranks = started.ranks;
    options.has_output = false;
    options.continues_earlier = false;
    const Location root = value_of(stores.open(started.root));
    return value_of(RunRecorder::start(stores, root, std::move(start), options));
  }

  std::shared_ptr<MetricWriter> open_writer(const Started& started) {
    const Location log = recorder.root().at(concat(kMetricsPrefix, recorder.run_id(), "/", recorder.part()));
    MetricWriterOptions options{.from_step = started.from_step};
    options.journal_folder = concat(metrics_state(environment), "/", recorder.part());
    auto opened = MetricWriter::open(log, std::move(options), background);
    if (!opened)
      static_cast<void>(recorder.finish(opened.error(), {}));  // the record says why it did not run
    return value_of(std::move(opened));
  }

  const Environment environment;
  std::stop_source ends;
  std::shared_ptr<StoreRegistry> stores;
  RunRecorder recorder;
  Background background{3};
  std::shared_ptr<MetricWriter> writer;  // first to go
};

class PythonRun {
 public:
  PythonRun(const std::string& root, const std::string& run_id, std::map<std::string, std::string> parameters,
            std::map<std::string, std::string> versions, std::vector<std::string> command_line,
            std::uint64_t rank, std::uint64_t ranks, std::optional<std::int64_t> from_step)
      : open_("this run", Started{.root = root,
                                  .run_id = run_id,
                                  .parameters = std::move(parameters),
                                  .versions = std::move(versions),
                                  .command_line = std::move(command_line),
                                  .rank = rank,
                                  .ranks = ranks,
                                  .from_step = from_step}) {}

  std::string id() const { return open_.anywhere().recorder.run_id(); }
  std::string root() const { return recorded_url(open_.anywhere().recorder.root()); }
  std::vector<std::string> remarks() const { return open_.anywhere().recorder.remarks(); }

  // The one that programs call most: it keeps the GIL. `numbers`: names → floats, ints or bools.
  void log(const nb::dict& numbers, std::int64_t step) {
    MetricWriter& writer = *open_.here().writer;
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
    for (const MetricWriter::Value& each : row_) {
      if (each.metric >= last_.size())
        last_.resize(each.metric + 1, std::numeric_limits<double>::quiet_NaN());
      last_[each.metric] = each.value;
    }
  }

  void flush() {
    OpenRun& open = open_.here();
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
    const MetricWriter::Counts counts = open_.here().writer->counts();
    return {
        {"dropped", counts.dropped}, {"waiting_bytes", counts.waiting_bytes}, {"segments", counts.segments}};
  }

  void add_input(const std::string& name, const std::string& url) {
    OpenRun& open = open_.here();
    const Location location = open_location(url);
    check(run_interruptibly([&](const std::stop_token&) { return open.recorder.add_input(name, location); }));
  }

  void add_output(const std::string& name, const std::string& url) {
    OpenRun& open = open_.here();
    const Location location = open_location(url);
    check(
        run_interruptibly([&](const std::stop_token&) { return open.recorder.add_output(name, location); }));
  }

  /// Writes the rest of the metrics, and the end of the record. `error`: why it failed or was stopped; empty:
  /// it has finished. If metrics are left in the journal, the record's end is written nonetheless, and their
  /// error is raised.
  void finish(const std::string& error, bool is_stopped, std::map<std::string, double> metrics,
              double within_s) {
    OpenRun& open = open_.here();
    const auto within = std::chrono::milliseconds(static_cast<std::int64_t>(within_s * 1000));
    check(run_interruptibly([&](const std::stop_token&) -> Status {
      const Status closed = open.writer->close(within);
      Status outcome;
      if (!error.empty()) outcome = Error{is_stopped ? Code::kCancelled : Code::kUnknown, error};
      const Status recorded = open.recorder.finish(outcome, {.metrics = std::move(metrics)});
      if (outcome && !recorded) return recorded;
      return closed;
    }));
  }

 private:
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

  const OfProcess<OpenRun> open_;
  // The GIL guards them.
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
      .def_prop_ro("root", &PythonRun::root)
      .def_prop_ro("remarks", &PythonRun::remarks)
      .def("log", &PythonRun::log, nb::arg("numbers"), nb::arg("step"))
      .def("flush", &PythonRun::flush)
      .def("last_values", &PythonRun::last_values)
      .def("counts", &PythonRun::counts)
      .def("add_input", &PythonRun::add_input, nb::arg("name"), nb::arg("url"))
      .def("add_output", &PythonRun::add_output, nb::arg("name"), nb::arg("url"))
      .def("finish", &PythonRun::finish, nb::arg("error"), nb::arg("is_stopped"), nb::arg("metrics"),
           nb::arg("within_s"));
}

}  // namespace headrace::python
