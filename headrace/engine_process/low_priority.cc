#include "headrace/engine_process/low_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headrace {
namespace {

constexpr int kLow = 19, kUsual = 0;

// Linux keeps a priority for each thread.
bool set_priority(long thread, int priority) {
  return setpriority(PRIO_PROCESS, static_cast<id_t>(thread), priority) == 0;
}

}  // namespace

LowPriority::LowPriority() {
  const long self = syscall(SYS_gettid);
  // Only trying tells whether there is a way back; one step is hardly felt if there is none.
  const bool has_way_back = set_priority(self, kUsual + 1) && set_priority(self, kUsual);
  is_in_force_ = has_way_back && set_priority(self, kLow);
}

LowPriority::~LowPriority() {
  if (!is_in_force_) return;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error))
    set_priority(std::strtol(thread.path().filename().c_str(), nullptr, 10), kUsual);
}

}  // namespace headrace
