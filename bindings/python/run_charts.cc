#include "bindings/python/run_charts.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>

#include "bindings/python/history.h"
#include "bindings/python/process.h"
#include "headrace/history/run_charts.h"
#include "headrace/os/parallel.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

template <typename T>
nb::object array_of(std::size_t count, const std::function<T(std::size_t)>& number) {
  auto values = std::make_unique_for_overwrite<T[]>(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = number(i);
  T* const data = values.get();
  const nb::capsule owner(values.release(), [](void* held) noexcept { delete[] static_cast<T*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {count}, owner));
}

/// All series have one range, and the same columns.
class PythonRunCharts {
 public:
  PythonRunCharts(const std::string& url, std::vector<std::string> runs, std::vector<std::string> metrics,
                  const std::string& x, std::optional<std::int64_t> first, std::optional<std::int64_t> last,
                  std::size_t columns) {
    std::vector<RunToChart> charted;
    for (std::string& run : runs) {
      RunMetrics found = recorded_metrics(url, run);
      charted.push_back({run, std::move(found)});
    }
    const auto axis = x == "step"   ? RunChartAxis::kStep
                      : x == "time" ? RunChartAxis::kTime
                                    : RunChartAxis::kRelative;
    charts_ = value_of(run_interruptibly([&](const std::stop_token& stop) {
      return chart_runs(charted, {.metrics = std::move(metrics),
                                  .axis = axis,
                                  .first = first,
                                  .last = last,
                                  .shares_range = true,
                                  .columns = columns,
                                  .threads = available_cores(),
                                  .call = {.stop = stop}});
    }));
  }

  // Returns the first place of each column.
  nb::object x() const {
    const ChartedSeries& any = charts_.series.front();
    const ChartColumns places = any.places();
    return array_of<std::int64_t>(any.columns.size(), [&](std::size_t i) { return places.begin(i); });
  }

  // For each series: run, metric, rank; extremes and last values; how many values are finite, and how many
  // are not.
  nb::list series() const {
    nb::list all;
    for (const ChartedSeries& each : charts_.series) {
      const auto values = [&](double ChartColumn::*member) {
        return array_of<double>(each.columns.size(), [&](std::size_t i) { return each.columns[i].*member; });
      };
      const auto counts = [&](std::uint64_t ChartColumn::*member) {
        return array_of<std::int64_t>(each.columns.size(), [&](std::size_t i) {
          return static_cast<std::int64_t>(each.columns[i].*member);
        });
      };
      all.append(nb::make_tuple(each.run, each.metric, each.rank, values(&ChartColumn::minimum),
                                values(&ChartColumn::maximum), values(&ChartColumn::last),
                                counts(&ChartColumn::finite), counts(&ChartColumn::not_finite)));
    }
    return all;
  }

  std::string svg(double smooth, bool is_log) const {
    return svg_series_chart(drawn_chart(charts_, "", {.smooth = smooth, .is_log = is_log}));
  }

 private:
  RunCharts charts_;
};

}  // namespace

void bind_run_charts(nb::module_& module) {
  nb::class_<PythonRunCharts>(module, "RunCharts")
      .def(
          nb::init<const std::string&, std::vector<std::string>, std::vector<std::string>, const std::string&,
                   std::optional<std::int64_t>, std::optional<std::int64_t>, std::size_t>(),
          nb::arg("url"), nb::arg("runs"), nb::arg("metrics"), nb::arg("x"), nb::arg("first").none(),
          nb::arg("last").none(), nb::arg("columns"))
      .def("x", &PythonRunCharts::x)
      .def("series", &PythonRunCharts::series)
      .def("svg", &PythonRunCharts::svg, nb::arg("smooth"), nb::arg("is_log"));
}

}  // namespace headrace::python
