#pragma once

/// \file A store that fails on purpose: for tests of what uses a store.

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
  /// Part of the calls that a fault befalls, one of `faults` each.
  double rate = 0;
  /// The one call that it befalls, counted from 1; then `rate` is not looked at.
  std::optional<std::uint64_t> only_call{};
  std::vector<Fault> faults = {Fault::kRefuse};
  Code code = Code::kUnavailable;  // of the errors
  std::chrono::milliseconds stall{10'000};
  /// Which calls, which fault and which bit are a function of this and of the number of the call.
  std::uint64_t seed = 0;
};

/// One fault that happened.
struct InjectedFault {
  std::uint64_t call;  // its number
  StoreOperation operation;
  std::string key;
  Fault fault;
};

/// What was done to a store. Thread-safe.
class FaultAccount {
 public:
  void add(InjectedFault fault);
  /// In the order in which they happened.
  std::vector<InjectedFault> faults() const;

 private:
  mutable std::mutex mutex_;
  std::vector<InjectedFault> faults_;
};

/// A view of `store` whose calls meet faults. Calls are numbered in the order in which they begin, those to
/// which nothing may be done included. A fault of reading befalls reads only: of other calls it is kRefuse.
std::unique_ptr<Store> make_faulty(std::shared_ptr<Store> store, const FaultOptions& options,
                                   std::shared_ptr<FaultAccount> account);

}  // namespace headrace
