#include "headrace/prepare/sort/spill_store.h"

#include "headrace/track/created_once.h"

namespace headrace {

SpillStore::SpillStore(Location work_folder, std::uint64_t memory_bytes)
    : work_folder_(std::move(work_folder)), memory_left_bytes_(memory_bytes) {}

Result<SpillStore::Kept> SpillStore::keep(const std::string& name, Bytes bytes) {
  Kept kept{.spill = {.key = name, .size_bytes = bytes.size()}};
  {
    const std::lock_guard lock(mutex_);
    kept.is_in_memory = bytes.size() <= memory_left_bytes_;
    if (kept.is_in_memory) memory_left_bytes_ -= bytes.size();
  }
  if (!kept.is_in_memory) {
    HEADRACE_CHECK(write_unless_same(work_folder_.at(name), bytes));
    return kept;
  }
  HEADRACE_TRY(RowsReader reader, RowsReader::open(std::move(bytes), name));
  const std::lock_guard lock(mutex_);
  readers_[name] = std::make_shared<const RowsReader>(std::move(reader));
  return kept;
}

Result<std::shared_ptr<const RowsReader>> SpillStore::open(const KeptSpill& spill) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = readers_.find(spill.key);
    if (found != readers_.end()) return found->second;
  }
  HEADRACE_TRY(RowsReader reader, RowsReader::open(work_folder_.at(spill.key), {}, spill.size_bytes));
  const std::lock_guard lock(mutex_);
  return readers_.emplace(spill.key, std::make_shared<const RowsReader>(std::move(reader))).first->second;
}

}  // namespace headrace
