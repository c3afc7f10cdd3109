#pragma once

/// \file The values that writers of logs have logged, and what they were promised about them.

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace headrace::interleave {

/// One log of one writer.
struct LoggedValues {
  std::vector<double> values{};  // in their order; no other log has one of them
  std::size_t acknowledged = 0;  // of them, the first so many survive a kill
  std::size_t stored = 0;        // of them, the first so many are in the store
};

/// Thread-safe.
class Ledger {
 public:
  Ledger() = default;
  explicit Ledger(std::map<std::string, LoggedValues> logs) : logs_(std::move(logs)) {}

  /// Notes a new value of the log and returns it. Call it before the value is logged.
  double log(const std::string& log_key);
  /// All its values so far survive a kill.
  void acknowledge(const std::string& log_key);
  /// All its values so far are in the store.
  void store(const std::string& log_key);

  /// By the key of the log.
  std::map<std::string, LoggedValues> logs() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LoggedValues> logs_;
};

}  // namespace headrace::interleave
