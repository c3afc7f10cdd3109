#include "tests/interleave/output.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace headrace::interleave {
namespace {

std::FILE* own_output = nullptr;

}  // namespace

void silence_commands() {
  own_output = fdopen(dup(STDOUT_FILENO), "w");
  if (own_output == nullptr || std::freopen("/dev/null", "w", stdout) == nullptr ||
      std::freopen("/dev/null", "w", stderr) == nullptr)
    std::abort();
}

void print(const std::string& line) {
  std::fputs((line + "\n").c_str(), own_output);
  std::fflush(own_output);
}

void give_up(const std::string& why) {
  print("interleave: " + why);
  std::abort();
}

}  // namespace headrace::interleave
