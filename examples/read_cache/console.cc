#include "examples/read_cache/console.h"

std::vector<std::string> open_console(int count, char** arguments) {
  return {arguments + 1, arguments + count};
}
