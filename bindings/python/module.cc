#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bindings/python/artifact.h"
#include "bindings/python/dataset.h"
#include "bindings/python/history.h"
#include "bindings/python/ignite.h"
#include "bindings/python/loader.h"
#include "bindings/python/model_registry.h"
#include "bindings/python/process.h"
#include "bindings/python/published.h"
#include "bindings/python/run.h"
#include "bindings/python/run_charts.h"
#include "bindings/python/staging.h"
#include "bindings/python/store.h"
#include "bindings/python/summary.h"
#include "bindings/python/tensorflow.h"
#include "bindings/python/upload.h"
#include "headrace/base/text.h"

namespace nb = nanobind;

namespace headrace::python {

namespace {

std::uint64_t size_bytes_of(const std::string& text) {
  const auto size_bytes = parse_size_bytes(text);
  if (!size_bytes) {
    raise({Code::kInvalidArgument,
           concat("'", text, "' is not a size; write \"1GiB\", \"300MB\" or a number of bytes")});
  }
  return *size_bytes;
}

}  // namespace

NB_MODULE(_headrace, module) {
  nb::set_leak_warnings(false);  // iterators of frameworks may outlive the interpreter
  module.doc() = "The native part of headrace. Private: use the package.";
  module.def("parse_size_bytes", &size_bytes_of, nb::arg("text"));
  prepare_interpreters_end();
  bind_dataset(module);
  bind_ignite(module);
  bind_loader(module);
  bind_published(module);
  bind_artifact(module);
  bind_run(module);
  bind_history(module);
  bind_model_registry(module);
  bind_run_charts(module);
  bind_staging(module);
  bind_store(module);
  bind_summary(module);
  bind_tensorflow(module);
  bind_upload(module);
}

}  // namespace headrace::python
