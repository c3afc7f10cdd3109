#include "bindings/python/tensorflow.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "bindings/python/process.h"
#include "bindings/tensorflow/plugin.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

// The files of one process. Never destroyed: TensorFlow's threads may use them until the process ends, and a
// fork's child has none of its parent's threads.
struct ProcessFiles {
  const ProcessMark process;
  FileSystem files{{.open = open_from_any_thread,
                    .segment_header = [] { return tensorflow::segment_header(now_s()); },
                    .record_size = tensorflow::record_size,
                    .spool = {.root = temporary_folder(Environment::capture())}}};
};

FileSystem& file_system() {
  static std::atomic<ProcessFiles*> current = nullptr;
  ProcessFiles* files = current;
  while (files == nullptr || !files->process.is_here()) {
    auto* const fresh = new ProcessFiles();
    if (current.compare_exchange_strong(files, fresh)) return fresh->files;
    delete fresh;
  }
  return files->files;
}

}  // namespace

void bind_tensorflow(nb::module_& module) {
  module.def("tensorflow_schemes", &tensorflow::schemes);
  module.def("remember_environment", &remember_environment);
  module.def("is_tensorflow_plugin", &tensorflow::is_registered);
}

}  // namespace headrace::python

extern "C" __attribute__((visibility("default"))) void TF_InitPlugin(TF_FilesystemPluginInfo* info) {
  headrace::tensorflow::describe_plugin(info, headrace::python::file_system);
}
