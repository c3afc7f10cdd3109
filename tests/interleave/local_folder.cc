#include "tests/interleave/local_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/interleave/output.h"

namespace headrace::interleave {

namespace fs = std::filesystem;

LocalFolder::LocalFolder() {
  const std::string base = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  path_ = base + "/headrace-interleave-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) give_up("no folder in " + base);
}

LocalFolder::~LocalFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void LocalFolder::copy_from(const LocalFolder& from) {
  std::error_code failure;
  fs::copy(from.path(), path_, fs::copy_options::recursive, failure);
  if (failure) give_up(from.path() + " cannot be copied: " + failure.message());
}

}  // namespace headrace::interleave
