#include "headrace/os/available_memory.h"

#include <algorithm>
#include <fstream>

#include "headrace/base/text.h"

namespace headrace {
namespace {

std::optional<std::uint64_t> number_in_file(const std::string& path) {
  std::string text;
  std::ifstream file(path);
  if (!(file >> text)) return std::nullopt;
  return parse_number<std::uint64_t>(text);  // no value for "max"
}

std::optional<std::uint64_t> machine_memory_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
    std::getline(file, name);
  }
  return std::nullopt;
}

// Returns the cgroup of this process below /sys/fs/cgroup ("/job.slice/step") by version 2; empty if it is
// the root.
std::string own_cgroup(const std::string& root) {
  constexpr std::string_view kVersion2 = "0::";
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kVersion2)) return line == "0::/" ? "" : line.substr(kVersion2.size());
  }
  return "";
}

// Cached files that can be dropped do not count as used.
std::optional<std::uint64_t> memory_of_cgroup(const std::string& folder) {
  const auto most = number_in_file(folder + "memory.max");
  const auto used = number_in_file(folder + "memory.current");
  if (!most || !used) return std::nullopt;
  std::uint64_t files = 0;
  std::ifstream statistics(folder + "memory.stat");
  for (std::string name; statistics >> name;) {
    if (name == "inactive_file") statistics >> files;
    std::getline(statistics, name);
  }
  const std::uint64_t taken = *used - std::min(*used, files);
  return *most - std::min(*most, taken);
}

// Each cgroup above limits its children as well.
std::optional<std::uint64_t> cgroup_memory_bytes(const std::string& root) {
  std::optional<std::uint64_t> least;
  for (std::string group = own_cgroup(root);; group.resize(group.rfind('/'))) {
    const auto available = memory_of_cgroup(concat(root, "/sys/fs/cgroup", group, "/"));
    if (available) least = least ? std::min(*least, *available) : *available;
    if (group.empty() || group.front() != '/') return least;
  }
}

}  // namespace

std::optional<std::uint64_t> available_memory_bytes(const std::string& root) {
  const auto machine = machine_memory_bytes(root);
  const auto cgroup = cgroup_memory_bytes(root);
  if (!machine || !cgroup) return machine ? machine : cgroup;
  return std::min(*machine, *cgroup);
}

}  // namespace headrace
