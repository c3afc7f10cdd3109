#include "headrace/engine/tensorflow/api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>

#include "headrace/base/text.h"

namespace headrace::tensorflow {

namespace {

constexpr int kOldestMinor = 16;  // the first version whose Keras is Keras 3
constexpr std::size_t kMessageBytesMax = 800;

std::atomic<bool> loading_allowed = false;

Status check_version(const std::string& version, const std::string& library) {
  const std::vector<std::string> parts = split(version, '.');
  const int major = parts.empty() ? 0 : parse_number<int>(parts[0]).value_or(0);
  const int minor = parts.size() < 2 ? 0 : parse_number<int>(parts[1]).value_or(0);
  if (major == 2 && minor >= kOldestMinor) return {};
  return Error{Code::kFailedPrecondition,
               concat("TensorFlow ", version, " at ", library, ": Headrace needs 2.", kOldestMinor,
                      " or newer, below 3: pip install --upgrade tensorflow-cpu")};
}

/// TensorFlow prints two lines of information while it is loaded, at every log level. While this object
/// exists, standard error goes to memory. Its destructor passes on everything else that was printed.
class StandardErrorFilter {
 public:
  StandardErrorFilter() : held_(memfd_create("headrace-stderr", MFD_CLOEXEC)) {
    if (held_ < 0) return;
    original_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (original_ >= 0) dup2(held_, STDERR_FILENO);
  }
  ~StandardErrorFilter() {
    if (original_ >= 0) {
      dup2(original_, STDERR_FILENO);
      pass_on();
      close(original_);
    }
    if (held_ >= 0) close(held_);
  }
  StandardErrorFilter(const StandardErrorFilter&) = delete;
  StandardErrorFilter& operator=(const StandardErrorFilter&) = delete;

 private:
  void pass_on() const {
    std::string text(1 << 16, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(pread(held_, text.data(), text.size(), 0), 0)));
    for (const std::string& line : split(text, '\n')) {
      if (line.empty() || line.find("oneDNN custom operations") != std::string::npos ||
          line.find("before absl::InitializeLog()") != std::string::npos) {
        continue;
      }
      dprintf(original_, "%s\n", line.c_str());
    }
  }

  int held_;
  int original_ = -1;
};

void* open_quietly(const std::string& library) {
  const StandardErrorFilter filter;
  return dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// The library is never unloaded, because TensorFlow's threads outlive any owner.
Result<Api> open_library(const std::string& library) {
  void* const handle = open_quietly(library);
  if (handle == nullptr) {
    return Error{Code::kFailedPrecondition, concat("loading TensorFlow: ", dlerror())};
  }
  Api api;
#define HEADRACE_FIND(result, name, arguments)                                                         \
  api.name = reinterpret_cast<result(*) arguments>(dlsym(handle, #name));                              \
  if (api.name == nullptr) {                                                                           \
    return Error{Code::kFailedPrecondition,                                                            \
                 concat(library, " has no function " #name ": pip install --upgrade tensorflow-cpu")}; \
  }
  HEADRACE_TENSORFLOW_API(HEADRACE_FIND)
#undef HEADRACE_FIND
  HEADRACE_CHECK(check_version(api.TF_Version(), library));
  return api;
}

}  // namespace

void allow_loading() { loading_allowed = true; }

Result<const Api*> load_api(const std::string& library) {
  static std::mutex mutex;
  static Api loaded;
  static std::string loaded_library;
  const std::lock_guard lock(mutex);
  if (!loading_allowed) {
    return Error{Code::kFailedPrecondition,
                 "TensorFlow is opened before set_tensorflow_environment() was called"};
  }
  if (loaded_library.empty()) {
    HEADRACE_TRY(loaded, open_library(library));
    loaded_library = library;
  } else if (loaded_library != library) {
    return Error{Code::kFailedPrecondition, concat("TensorFlow is loaded from ", loaded_library,
                                                   "; a process cannot load another from ", library)};
  }
  return &loaded;
}

Status ApiStatus::check(std::string_view doing) const {
  const int code = api_.TF_GetCode(status_.get());
  if (code == 0) return {};
  std::string message = api_.TF_Message(status_.get());
  if (message.size() > kMessageBytesMax) message = message.substr(0, kMessageBytesMax) + " …";
  return Error{code > 0 && code <= 16 ? static_cast<Code>(code) : Code::kUnknown,
               concat(doing, ": ", message)};
}

}  // namespace headrace::tensorflow
