#include "bindings/python/summary.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <variant>

#include "bindings/python/buffers.h"
#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/events/event_writer.h"
#include "headrace/log/recover_segments.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

using GivenValue = std::variant<bool, double, std::string>;

// Converts a value for the encoder. bool comes first, because Python's bool is an int, too.
HyperparameterValue view_of(const GivenValue& value) {
  return std::visit([](const auto& held) { return HyperparameterValue(held); }, value);
}

class PythonEventWriter {
 public:
  PythonEventWriter(const std::string& url, const std::string& writer, double flush_seconds, bool has_journal,
                    const std::string& owner)
      : PythonEventWriter(open_location(url), {.writer = writer, .flush_seconds = flush_seconds}, has_journal,
                          owner) {}

  // Programs call this function most, so it keeps the GIL.
  void scalar(std::string_view tag, double value, std::int64_t step, std::optional<double> wall_time_s) {
    const double time_s = wall_time_s.value_or(now_s());
    add([&](EventEncoder& encoder, Bytes& out) {
      encoder.scalar(out, {time_s, step}, tag, static_cast<float>(value));
    });
  }

  void scalars(const std::vector<std::pair<std::string, double>>& values, std::int64_t step,
               std::optional<double> wall_time_s) {
    const double time_s = wall_time_s.value_or(now_s());
    add([&](EventEncoder& encoder, Bytes& out) {
      for (const auto& [tag, value] : values)
        encoder.scalar(out, {time_s, step}, tag, static_cast<float>(value));
    });
  }

  // `values`: float64, in one piece.
  void histogram(std::string_view tag, const nb::object& values, std::int64_t step, int buckets) {
    const LentBuffer lent(values, LentBuffer::Access::kRead);
    const std::span<const double> numbers(reinterpret_cast<const double*>(lent.view().data()),
                                          lent.view().size() / sizeof(double));
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) {
      encoder.histogram(out, {time_s, step}, tag, make_histogram(numbers, buckets));
    });
  }

  void images(std::string_view tag, const std::vector<nb::bytes>& encoded, std::uint32_t width,
              std::uint32_t height, std::int64_t step) {
    std::vector<BytesView> views;
    for (const nb::bytes& one : encoded) views.push_back(as_bytes({one.c_str(), one.size()}));
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) {
      encoder.images(out, {time_s, step}, tag, {.width = width, .height = height, .encoded = views});
    });
  }

  void text(std::string_view tag, std::string_view markdown, std::int64_t step) {
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) { encoder.text(out, {time_s, step}, tag, markdown); });
  }

  void audio(std::string_view tag, const std::vector<nb::bytes>& clips, std::int64_t step) {
    std::vector<BytesView> views;
    for (const nb::bytes& one : clips) views.push_back(as_bytes({one.c_str(), one.size()}));
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) { encoder.audio(out, {time_s, step}, tag, views); });
  }

  void table(std::string_view tag, std::string_view json, std::int64_t step) {
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) { encoder.table(out, {time_s, step}, tag, json); });
  }

  void graph(const nb::bytes& graph_def) {
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) {
      encoder.graph(out, {time_s, 0}, as_bytes({graph_def.c_str(), graph_def.size()}));
    });
  }

  void trial(std::string_view name, const std::vector<std::pair<std::string, GivenValue>>& values) {
    std::vector<Hyperparameter> hyperparameters;
    for (const auto& [of, value] : values) hyperparameters.push_back({of, view_of(value)});
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) { encoder.trial_start(out, time_s, name, hyperparameters); });
  }

  void end_trial(bool has_succeeded) {
    const double time_s = now_s();
    add([&](EventEncoder& encoder, Bytes& out) {
      encoder.trial_end(out, time_s, has_succeeded ? TrialStatus::kSuccess : TrialStatus::kFailure);
    });
  }

  void flush_journal() {
    Open& open = open_.here();
    check(run_interruptibly([&](const std::stop_token&) { return open.writer->flush_journal(); }));
  }

  void flush() {
    Open& open = open_.here();
    check(run_interruptibly([&](const std::stop_token&) { return open.writer->flush(); }));
  }

  void close(double within_s) {
    if (!open_.is_here()) return;
    Open& open = open_.here();
    const auto within = milliseconds_of(within_s);
    check(run_interruptibly([&](const std::stop_token&) { return open.writer->close(within); }));
  }

 private:
  struct Open {
    Open(Location location, EventWriterOptions options)
        : writer(value_of(EventWriter::open(std::move(location), now_s(), std::move(options), background))) {}
    Background background{3};             // starts threads when they are needed
    std::shared_ptr<EventWriter> writer;  // destroyed first
  };

  PythonEventWriter(Location location, EventWriterOptions options, bool has_journal, const std::string& owner)
      : open_("this writer", location, kept_on_disk(location, std::move(options), has_journal, owner)) {}

  // The file's name has random bits, so the journal's folder does not exist yet.
  static EventWriterOptions kept_on_disk(const Location& location, EventWriterOptions options,
                                         bool has_journal, const std::string& owner) {
    options.spool.root = temporary_folder(Environment::capture());
    if (!has_journal) return options;
    options.journal = {.folder = concat(state_of_user(), kSegmentJournals, "/", last_segment(location.key)),
                       .owner = owner};
    return options;
  }

  template <typename Encode>
  void add(Encode&& encode) {
    EventWriter& writer = *open_.here().writer;
    check(writer.add(encode));
    if (writer.is_full())
      check(run_interruptibly([&](const std::stop_token&) { return writer.make_room(); }));
  }

  const OfProcess<Open> open_;
};

}  // namespace

void bind_summary(nb::module_& module) {
  nb::class_<PythonEventWriter>(module, "EventWriter")
      .def(nb::init<const std::string&, const std::string&, double, bool, const std::string&>(),
           nb::arg("url"), nb::arg("writer"), nb::arg("flush_seconds"), nb::arg("journal") = false,
           nb::arg("owner") = "")
      .def("scalar", &PythonEventWriter::scalar, nb::arg("tag"), nb::arg("value"), nb::arg("step"),
           nb::arg("wall_time_s") = nb::none())
      .def("scalars", &PythonEventWriter::scalars, nb::arg("values"), nb::arg("step"),
           nb::arg("wall_time_s") = nb::none())
      .def("histogram", &PythonEventWriter::histogram, nb::arg("tag"), nb::arg("values"), nb::arg("step"),
           nb::arg("buckets"))
      .def("images", &PythonEventWriter::images, nb::arg("tag"), nb::arg("encoded"), nb::arg("width"),
           nb::arg("height"), nb::arg("step"))
      .def("text", &PythonEventWriter::text, nb::arg("tag"), nb::arg("markdown"), nb::arg("step"))
      .def("audio", &PythonEventWriter::audio, nb::arg("tag"), nb::arg("clips"), nb::arg("step"))
      .def("table", &PythonEventWriter::table, nb::arg("tag"), nb::arg("json"), nb::arg("step"))
      .def("graph", &PythonEventWriter::graph, nb::arg("graph_def"))
      .def("trial", &PythonEventWriter::trial, nb::arg("name"), nb::arg("values"))
      .def("end_trial", &PythonEventWriter::end_trial, nb::arg("has_succeeded"))
      .def("flush_journal", &PythonEventWriter::flush_journal)
      .def("flush", &PythonEventWriter::flush)
      .def("close", &PythonEventWriter::close, nb::arg("within_s") = 300.0);
}

}  // namespace headrace::python
