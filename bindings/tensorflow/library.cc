/// \file libheadrace_tensorflow.so: the plug-in for programs without Python.

#include "bindings/tensorflow/plugin.h"
#include "headrace/store/registry.h"
#include "headrace/store/staging.h"

namespace headrace::tensorflow {
namespace {

double seconds_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Never destroyed: TensorFlow's threads may use the file system until the process ends.
FileSystem& file_system() {
  static const auto* environment = new Environment(Environment::capture());
  static auto* stores = new StoreRegistry(*environment);
  static auto* files =
      new FileSystem({.open = [](std::string_view url) { return stores->open(url); },
                      .segment_header = [] { return segment_header(seconds_of(environment->now())); },
                      .record_size = record_size,
                      .spool = {.root = temporary_folder(*environment)}});
  return *files;
}

}  // namespace
}  // namespace headrace::tensorflow

extern "C" __attribute__((visibility("default"))) void TF_InitPlugin(TF_FilesystemPluginInfo* info) {
  headrace::tensorflow::describe_plugin(info, headrace::tensorflow::file_system);
}
