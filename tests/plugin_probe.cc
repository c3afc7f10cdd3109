/// \file A program without Python that uses TensorFlow's file systems over stores:
///
///   headrace_plugin_probe FOLDER_OF_TENSORFLOW PLUGIN URL_OF_A_SAVED_MODEL
///
/// Opens TensorFlow with local names, gives it the plug-in, loads the model, prints "loaded", or the error.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void* library;

template <typename Function>
Function* find(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  if (found != nullptr) return found;
  std::fprintf(stderr, "%s\n", dlerror());
  std::exit(1);
}

int fail(void* status) {
  std::printf("%s\n", find<const char*(const void*)>("TF_Message")(status));
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const std::string path = std::string(arguments[1]) + "/libtensorflow_cc.so.2";
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  void* const status = find<void*()>("TF_NewStatus")();
  const auto code = find<int(const void*)>("TF_GetCode");
  find<void(const char*, void*)>("TF_RegisterFilesystemPlugin")(arguments[2], status);
  if (code(status) != 0) return fail(status);
  const char* const tags[] = {"serve"};
  void* const graph = find<void*()>("TF_NewGraph")();
  void* const options = find<void*()>("TF_NewSessionOptions")();
  using Load = void*(const void*, const void*, const char*, const char* const*, int, void*, void*, void*);
  find<Load>("TF_LoadSessionFromSavedModel")(options, nullptr, arguments[3], tags, 1, graph, nullptr, status);
  if (code(status) != 0) return fail(status);
  std::printf("loaded\n");
  return 0;
}
