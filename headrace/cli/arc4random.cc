// Debian's c-ares and static C++ library take this function from glibc 2.36. With this definition, the
// servers also run with older versions of glibc.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (getentropy(&number, sizeof number) != 0) std::abort();
  return number;
}
