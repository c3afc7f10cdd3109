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
  kRefuse,       // an error instead of the call
  kLoseAnswer,   // the call is made, then an error
  kCutRead,      // a read's memory is filled in part, then an error
  kCorruptRead,  // a read succeeds with one bit changed
  kStall,        // the call is made after a pause; if that outlasts the call's deadline, kDeadlineExceeded
};

struct FaultOptions {
  /// Share of the calls that meet a fault, chosen from `faults`.
  double rate = 0;
  /// The only call that meets a fault, counted from 1; `rate` is then ignored.
  std::optional<std::uint64_t> only_call{};
  std::vector<Fault> faults = {Fault::kRefuse};
  Code code = Code::kUnavailable;  // of the errors
  std::chrono::milliseconds stall{10'000};
  /// Leave alone calls that `make_retrying` would not repeat.
  bool only_repeatable = false;
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

/// A view of `store` whose calls meet faults. Calls are numbered in the order in which they begin, including
/// those that are left alone. A fault of reading meets only reads; for other calls it becomes kRefuse.
std::unique_ptr<Store> make_faulty(std::shared_ptr<Store> store, const FaultOptions& options,
                                   std::shared_ptr<FaultAccount> account);

}  // namespace headrace
