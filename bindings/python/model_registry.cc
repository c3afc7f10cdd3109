#include "bindings/python/model_registry.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <mutex>

#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/registered_models.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class PythonModelRegistry {
 public:
  PythonModelRegistry(const std::string& url, std::string artifacts)
      : root_(open_location(url)),
        experiments_(root_, now_ms),
        logged_models_(root_, experiments_, now_ms, [this](const std::string& text) { remark(text); }),
        models_(root_, logged_models_, std::move(artifacts), now_ms,
                [this](const std::string& text) { remark(text); }) {}

  // The answer's JSON, and remarks for people.
  std::pair<std::string, std::vector<std::string>> answer(const std::string& method, const std::string& route,
                                                          const std::string& body) {
    const std::string answer = value_of(run_interruptibly(
        [&](const std::stop_token& stop) { return call(concat(method, " ", route), body, {.stop = stop}); }));
    const std::scoped_lock lock(mutex_);
    return {answer, std::exchange(remarks_, {})};
  }

 private:
  Result<std::string> call(const std::string& route, const std::string& body, const CallOptions& options) {
    const auto found = mlflow::RegisteredModels::calls().find(route);
    if (found == mlflow::RegisteredModels::calls().end())
      return Error{Code::kUnimplemented, concat("the model registry has no call ", route)};
    HEADRACE_TRY(const mlflow::RequestFields fields, mlflow::RequestFields::parse_body(body));
    try {
      HEADRACE_TRY(const Json answer, (models_.*found->second)(fields, options));
      return answer.dump();
    } catch (const JsonError& malformed) {
      return Error{Code::kDataLoss, concat("a state in the store is malformed: ", malformed.what())};
    }
  }

  void remark(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    remarks_.push_back(text);
  }

  const Location root_;
  std::mutex mutex_;
  std::vector<std::string> remarks_;  // guarded by mutex_
  mlflow::Experiments experiments_;
  mlflow::LoggedModels logged_models_;
  mlflow::RegisteredModels models_;
};

}  // namespace

void bind_model_registry(nb::module_& module) {
  nb::class_<PythonModelRegistry>(module, "ModelRegistry")
      .def(nb::init<const std::string&, std::string>(), nb::arg("url"), nb::arg("artifacts"))
      .def("answer", &PythonModelRegistry::answer, nb::arg("method"), nb::arg("route"), nb::arg("body"));
}

}  // namespace headrace::python
