#include "headrace/store/layers/retrying.h"

#include <atomic>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/store/layers/intercepting.h"

namespace headrace {
namespace {

bool is_read(StoreOperation operation) {
  return operation == StoreOperation::kRead || operation == StoreOperation::kReadMany ||
         operation == StoreOperation::kStat || operation == StoreOperation::kList ||
         operation == StoreOperation::kListUnfinished;
}

bool may_pass(const StoreCall& call, Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded ||
         (code == Code::kDataLoss && is_read(call.operation));
}

class RetryingStore final : public InterceptingStore {
 public:
  RetryingStore(std::shared_ptr<Store> store, const RetryOptions& options)
      : InterceptingStore(std::move(store)), options_(options), budget_(options.budget) {}

 private:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    Backoff backoff(options_.backoff, siphash({options_.seed, 0}, ++calls_));
    for (int attempt = 1;; ++attempt) {
      Status status = go_on();
      if (status) {
        budget_.succeeded();
        return status;
      }
      Error& error = status.error();
      if (!call.is_repeatable || !may_pass(call, error.code)) return status;
      if (attempt >= options_.max_attempts || !budget_.take()) {
        if (attempt > 1) error.message += concat(" (after ", attempt, " attempts)");
        return status;
      }
      if (!sleep_unless_stopped(backoff.next(), call.options.stop)) {
        return Error{Code::kCancelled,
                     concat("stopped before another attempt at ", operation_name(call.operation), " of ",
                            describe(call.key), ", which had failed: ", error.message)};
      }
    }
  }

  const RetryOptions options_;
  RetryBudget budget_;
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace

std::unique_ptr<Store> make_retrying(std::shared_ptr<Store> store, const RetryOptions& options) {
  return std::make_unique<RetryingStore>(std::move(store), options);
}

Location make_retrying(Location location, const RetryOptions& options) {
  location.store = make_retrying(std::move(location.store), options);
  return location;
}

}  // namespace headrace
