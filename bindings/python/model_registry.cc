#include "bindings/python/model_registry.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "bindings/python/process.h"
#include "headrace/base/text.h"
#include "headrace/mlflow/registered_models.h"

namespace headrace::python {

namespace nb = nanobind;

namespace {

std::int64_t registry_clock_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Thread-safe.
class OpenRegistry {
 public:
  OpenRegistry(const Location& root, const std::string& artifacts)
      : experiments_(root, registry_clock_ms),
        logged_models_(root, experiments_, registry_clock_ms, remark_),
        models_(root, logged_models_, artifacts, registry_clock_ms, remark_) {}
  OpenRegistry(const OpenRegistry&) = delete;
  OpenRegistry& operator=(const OpenRegistry&) = delete;

  // Returns the answer as JSON.
  Result<std::string> answer(const std::string& route, const std::string& body, const CallOptions& options) {
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

  std::vector<std::string> take_remarks() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(remarks_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> remarks_;  // guarded by mutex_
  const std::function<void(const std::string&)> remark_ = [this](const std::string& text) {
    const std::scoped_lock lock(mutex_);
    remarks_.push_back(text);
  };
  mlflow::Experiments experiments_;
  mlflow::LoggedModels logged_models_;
  mlflow::RegisteredModels models_;
};

class PythonModelRegistry {
 public:
  PythonModelRegistry(std::string url, std::string artifacts)
      : url_(std::move(url)), artifacts_(std::move(artifacts)), open_(opened()) {}

  // Returns the answer as JSON, and remarks for people.
  std::pair<std::string, std::vector<std::string>> answer(const std::string& method, const std::string& route,
                                                          const std::string& body) {
    const std::shared_ptr<OpenRegistry> registry = here();
    std::string text = value_of(run_interruptibly([&](const std::stop_token& stop) {
      return registry->answer(concat(method, " ", route), body, {.stop = stop});
    }));
    return {std::move(text), registry->take_remarks()};
  }

 private:
  using Open = OfProcess<std::shared_ptr<OpenRegistry>>;

  std::unique_ptr<Open> opened() const {
    return std::make_unique<Open>("this model registry",
                                  std::make_shared<OpenRegistry>(open_location(url_), artifacts_));
  }

  // Returns this process's registry: a fork's child opens its own. Opening may run Python code, and another
  // call in it may open the registry, too.
  std::shared_ptr<OpenRegistry> here() {
    if (!open_->is_here()) {
      std::unique_ptr<Open> own = opened();
      if (!open_->is_here()) open_ = std::move(own);
    }
    return open_->here();
  }

  const std::string url_;
  const std::string artifacts_;
  std::unique_ptr<Open> open_;
};

}  // namespace

void bind_model_registry(nb::module_& module) {
  nb::class_<PythonModelRegistry>(module, "ModelRegistry")
      .def(nb::init<std::string, std::string>(), nb::arg("url"), nb::arg("artifacts"))
      .def("answer", &PythonModelRegistry::answer, nb::arg("method"), nb::arg("route"), nb::arg("body"));
}

}  // namespace headrace::python
