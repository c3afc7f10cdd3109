#include "bindings/tensorflow/tensorflow_status.h"

#include <dlfcn.h>

#include <atomic>

namespace headrace::tensorflow {
namespace {

using SetStatus = void (*)(TF_Status*, int, const char*);
std::atomic<SetStatus> set_status = nullptr;

}  // namespace

bool find_status_function() {
  // In a program that opened TensorFlow with RTLD_LOCAL its symbols are not visible to others, but it is
  // loaded.
  for (const char* library :
       {"libtensorflow_framework.so.2", "libtensorflow_cc.so.2", "libtensorflow.so.2"}) {
    void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    void* const found = dlsym(handle, "TF_SetStatus");
    if (found == nullptr) continue;
    set_status = reinterpret_cast<SetStatus>(found);  // the handle is kept: TensorFlow must stay
    return true;
  }
  if (void* const found = dlsym(RTLD_DEFAULT, "TF_SetStatus"); found != nullptr)
    set_status = reinterpret_cast<SetStatus>(found);
  return set_status != nullptr;
}

void tell(TF_Status* status, const Status& outcome) {
  const SetStatus set = set_status;
  if (set == nullptr) return;
  if (outcome) return set(status, 0, "");
  set(status, static_cast<int>(outcome.error().code), outcome.error().message.c_str());
}

}  // namespace headrace::tensorflow
