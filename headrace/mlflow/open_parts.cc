#include "headrace/mlflow/open_parts.h"

#include <algorithm>

#include "headrace/base/text.h"

namespace headrace::mlflow {
namespace {

// A place among the openers of a slot. The destructor gives it back, even if opening throws: a state may be
// malformed, or memory may run out.
class OpenersPlace {
 public:
  // REQUIRES: `openers` counts this place already; `mutex` guards it
  OpenersPlace(std::mutex& mutex, int& openers) : mutex_(mutex), openers_(openers) {}
  ~OpenersPlace() {
    const std::scoped_lock lock(mutex_);
    --openers_;
  }
  OpenersPlace(const OpenersPlace&) = delete;
  OpenersPlace& operator=(const OpenersPlace&) = delete;

 private:
  std::mutex& mutex_;
  int& openers_;
};

}  // namespace

PartPointer OpenParts::find(const std::string& run) {
  const std::scoped_lock lock(mutex_);
  const auto found = slots_.find(run);
  if (found == slots_.end()) return nullptr;
  found->second->used = ++clock_;
  return found->second->part;
}

Result<PartPointer> OpenParts::open(const std::string& run,
                                    const std::function<Result<PartPointer>()>& start) {
  const std::shared_ptr<Slot> slot = slot_of(run);
  std::uint64_t failures = 0;
  {
    const std::scoped_lock lock(mutex_);
    if (slot->openers >= kMostOpening)
      return Error{Code::kResourceExhausted, concat("many requests wait for the run ", run, "; try again")};
    ++slot->openers;
    failures = slot->failures;
  }
  const OpenersPlace place(mutex_, slot->openers);
  return open_in_turn(*slot, failures, start);
}

// `failures` is the slot's count when the caller began to wait.
Result<PartPointer> OpenParts::open_in_turn(Slot& slot, std::uint64_t failures,
                                            const std::function<Result<PartPointer>()>& start) {
  const std::scoped_lock opening(slot.opening);
  {
    const std::scoped_lock lock(mutex_);
    if (slot.part != nullptr && !slot.part->is_sealed()) return slot.part;
    if (slot.failures != failures) return slot.last_failure.error();  // else waiting times would add up
  }
  Result<PartPointer> started = start();
  const std::scoped_lock lock(mutex_);
  if (!started) {
    ++slot.failures;
    slot.last_failure = started.error();
    return started;
  }
  if (slot.part != nullptr && !slot.part->is_finished()) ending_.push_back(slot.part);
  slot.part = *started;
  return started;
}

std::shared_ptr<OpenParts::Slot> OpenParts::slot_of(const std::string& run) {
  const std::scoped_lock lock(mutex_);
  auto& slot = slots_[run];
  if (slot == nullptr) slot = std::make_shared<Slot>();
  slot->used = ++clock_;
  return slot;
}

void OpenParts::add(PartPointer part) {
  const std::shared_ptr<Slot> slot = slot_of(part->run());
  const std::scoped_lock lock(mutex_);
  slot->part = std::move(part);
}

void OpenParts::add_ending(PartPointer part) {
  const std::scoped_lock lock(mutex_);
  ending_.push_back(std::move(part));
}

void OpenParts::forget(const PartPointer& part) {
  const std::scoped_lock lock(mutex_);
  std::erase(ending_, part);
  const auto found = slots_.find(part->run());
  if (found != slots_.end() && found->second->part == part) found->second->part = nullptr;
}

std::vector<PartPointer> OpenParts::surplus() const {
  std::vector<std::pair<std::uint64_t, PartPointer>> parts;
  const std::scoped_lock lock(mutex_);
  for (const PartPointer& part : ending_) parts.emplace_back(0, part);
  for (const auto& [run, slot] : slots_) {
    if (slot->part != nullptr) parts.emplace_back(slot->used, slot->part);
  }
  std::vector<PartPointer> out;
  if (parts.size() <= kMost) return out;
  std::ranges::sort(parts, {}, [](const auto& each) { return each.first; });
  for (std::size_t i = 0; i + kMost < parts.size(); ++i) out.push_back(parts[i].second);
  return out;
}

std::vector<PartPointer> OpenParts::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PartPointer> out = ending_;
  for (const auto& [run, slot] : slots_) {
    if (slot->part != nullptr) out.push_back(slot->part);
  }
  return out;
}

}  // namespace headrace::mlflow
