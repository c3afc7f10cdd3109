#include "tests/interleave/ledger.h"

#include <atomic>

namespace headrace::interleave {

double Ledger::log(const std::string& log_key) {
  static std::atomic<int> last = 0;
  const std::scoped_lock lock(mutex_);
  return logs_[log_key].values.emplace_back(++last);
}

void Ledger::acknowledge(const std::string& log_key) {
  const std::scoped_lock lock(mutex_);
  LoggedValues& log = logs_[log_key];
  log.acknowledged = log.values.size();
}

void Ledger::store(const std::string& log_key) {
  const std::scoped_lock lock(mutex_);
  LoggedValues& log = logs_[log_key];
  log.acknowledged = log.stored = log.values.size();
}

std::map<std::string, LoggedValues> Ledger::logs() const {
  const std::scoped_lock lock(mutex_);
  return logs_;
}

}  // namespace headrace::interleave
