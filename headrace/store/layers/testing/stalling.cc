#include "headrace/store/layers/testing/stalling.h"

#include "headrace/base/text.h"

namespace headrace {

class StallingStore final : public InterceptingStore {
 public:
  StallingStore(std::shared_ptr<Store> store, std::shared_ptr<StallControl> control)
      : InterceptingStore(std::move(store)), control_(std::move(control)) {}

 protected:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    std::uint64_t number = 0;
    HEADRACE_CHECK(control_->begin_call(call, number));
    return control_->end_call(number, go_on());
  }

 private:
  const std::shared_ptr<StallControl> control_;
};

bool StallControl::wait_for_stall() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stalled_ || has_ended_; });
  return is_stalled_;
}

void StallControl::release() {
  const std::scoped_lock lock(mutex_);
  is_released_ = true;
  changed_.notify_all();
}

void StallControl::end() {
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

std::uint64_t StallControl::calls() const {
  const std::scoped_lock lock(mutex_);
  return trace_.size();
}

bool StallControl::was_killed() const {
  const std::scoped_lock lock(mutex_);
  return was_killed_;
}

std::vector<std::string> StallControl::trace() const {
  const std::scoped_lock lock(mutex_);
  return trace_;
}

Status StallControl::begin_call(const StoreCall& call, std::uint64_t& number) {
  std::unique_lock lock(mutex_);
  number = trace_.size() + 1;
  trace_.push_back(concat(number, " ", operation_name(call.operation), " ", call.key));
  if (options_.kill_at > 0 && number > options_.kill_at) {
    was_killed_ = true;
    trace_.back() += ": killed";
    return Error{Code::kUnavailable, concat("the process was killed before call ", number)};
  }
  if (options_.stall_at == 0 || number < options_.stall_at || is_released_) return {};
  trace_.back() += " (stalled)";
  is_stalled_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return is_released_; });
  return {};
}

Status StallControl::end_call(std::uint64_t number, const Status& outcome) {
  const std::scoped_lock lock(mutex_);
  if (!outcome) trace_[number - 1] += concat(": ", code_name(outcome.error().code));
  if (number != options_.kill_at) return outcome;
  was_killed_ = true;
  trace_[number - 1] += ": killed before the answer";
  return Error{Code::kUnavailable, concat("the process was killed before the answer to call ", number)};
}

std::unique_ptr<Store> make_stalling(std::shared_ptr<Store> store, std::shared_ptr<StallControl> control) {
  return std::make_unique<StallingStore>(std::move(store), std::move(control));
}

}  // namespace headrace
