#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "headrace/store/layers/intercepting.h"
#include "headrace/store/location.h"

namespace headrace {

/// A deadline that no default has. Code that passes on its caller's options passes on this deadline.
inline CallOptions noted_call() { return {.deadline = std::chrono::milliseconds(54'321)}; }

/// For tests: a store that notes each call as "operation key". Reads are noted with offset and size, as in
/// "read a 0+100". Each call must have the deadline of `noted_call`, and each read a version.
class NotingStore final : public InterceptingStore {
 public:
  using InterceptingStore::InterceptingStore;

  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }
  bool expects_deadline = true;
  bool expects_version = true;

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    std::string text = std::string(operation_name(call.operation)) + " " + std::string(call.key);
    for (const ReadRequest& read : call.reads) {
      text += " " + std::to_string(read.offset_bytes) + "+" + std::to_string(read.target.size());
      EXPECT_EQ(read.if_version.has_value(), expects_version) << text;
    }
    if (expects_deadline) {
      EXPECT_EQ(call.options.deadline, noted_call().deadline) << text;
    }
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(text));
    }
    return go_on();
  }

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
};

/// Returns the same place seen through a new NotingStore, and that store.
inline std::pair<Location, std::shared_ptr<NotingStore>> noting(Location place) {
  auto store = std::make_shared<NotingStore>(std::move(place.store));
  place.store = store;
  return {std::move(place), std::move(store)};
}

}  // namespace headrace
