#include "headrace/store/memory/memory_driver.h"

#include "headrace/store/memory/memory_store.h"

namespace headrace {
namespace {

Result<OpenedStore> open_memory(const Url& url, const Environment&) {
  return OpenedStore{make_memory_store(url.authority)};
}

}  // namespace

const StoreDriver kMemoryDriver = {
    .scheme = "memory",
    .example = "memory://name/key",
    .summary = "Objects in this process's memory, for tests and examples",
    .details = "They disappear with the process, and no other process sees them.",
    .open = open_memory};

}  // namespace headrace
