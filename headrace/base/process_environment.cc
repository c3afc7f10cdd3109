#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "headrace/base/environment.h"

namespace headrace {

Environment Environment::capture() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

std::uint64_t random_name_bits() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) std::abort();  // the kernel can always supply eight random bytes
  }
  return bits;
}

}  // namespace headrace
