#pragma once

/// \file A store that fails on purpose, for testing code that uses a store.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "headrace/store/layers/intercepting.h"

namespace headrace {

enum class Fault : std::uint8_t {
  kRefuse,       // the call is not made, and fails
  kLoseAnswer,   // the call is made, and fails
  kCutRead,      // the end of a read's memory is wrong, and the read fails
  kCorruptRead,  // a read succeeds with one bit changed
  kStall,        // the call is made after a pause; if the pause reaches its deadline: kDeadlineExceeded
};

struct FaultOptions {
  /// Share of the calls that meet a fault chosen from `faults`, from 0 to 1.
  double rate = 0;
  /// Number of the only call that meets a fault, counted from 1. If set, `rate` is ignored.
  std::optional<std::uint64_t> only_call{};
  std::vector<Fault> faults = {Fault::kRefuse};
  Code code = Code::kUnavailable;  // of injected errors
  std::chrono::milliseconds stall{10'000};
  /// The choice of calls, faults and bits is a function of this seed and the number of the call.
  std::uint64_t seed = 0;
};

/// One fault that happened.
struct InjectedFault {
  std::uint64_t call;  // its number
  StoreOperation operation;
  std::string key;
  Fault fault;
};

/// The faults that a store has met. Thread-safe.
class FaultAccount {
 public:
  void add(InjectedFault fault);
  /// In the order in which they happened.
  std::vector<InjectedFault> faults() const;

 private:
  mutable std::mutex mutex_;
  std::vector<InjectedFault> faults_;
};

/// A view of `store` whose calls meet faults. All calls are numbered in the order in which they begin, also
/// those that meet no fault. kCutRead and kCorruptRead apply only to reads; other calls get kRefuse instead.
std::unique_ptr<Store> make_faulty(std::shared_ptr<Store> store, const FaultOptions& options,
                                   std::shared_ptr<FaultAccount> account);

}  // namespace headrace
