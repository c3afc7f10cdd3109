#include "headrace/store/layers/testing/faulty.h"

#include <atomic>
#include <utility>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/net/backoff.h"

namespace headrace {
namespace {

class FaultyStore final : public InterceptingStore {
 public:
  FaultyStore(std::shared_ptr<Store> store, const FaultOptions& options,
              std::shared_ptr<FaultAccount> account)
      : InterceptingStore(std::move(store)), options_(options), account_(std::move(account)) {}

 private:
  enum Draw : std::uint64_t { kWhether, kWhich, kWhere };

  std::uint64_t draw(std::uint64_t number, Draw what) const { return siphash({options_.seed, what}, number); }

  std::optional<Fault> fault_of(const StoreCall& call, std::uint64_t number) const {
    constexpr double kTwoTo64 = 18446744073709551616.0;
    const bool is_due = options_.only_call
                            ? *options_.only_call == number
                            : static_cast<double>(draw(number, kWhether)) < options_.rate * kTwoTo64;
    if (!is_due || options_.faults.empty()) return std::nullopt;
    const Fault fault = options_.faults[draw(number, kWhich) % options_.faults.size()];
    const bool is_of_reads = fault == Fault::kCutRead || fault == Fault::kCorruptRead;
    return is_of_reads && call.asked_bytes * call.reads.size() == 0 ? Fault::kRefuse : fault;
  }

  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    const std::uint64_t number = ++calls_;
    const std::optional<Fault> fault = fault_of(call, number);
    if (!fault) return go_on();
    account_->add({number, call.operation, std::string(call.key), *fault});
    const Error error{options_.code, concat("injected fault in call ", number, ", ",
                                            operation_name(call.operation), " of ", describe(call.key))};
    switch (*fault) {
      case Fault::kRefuse:
        return error;
      case Fault::kLoseAnswer:
        HEADRACE_CHECK(go_on());
        return error;
      case Fault::kCutRead:
        HEADRACE_CHECK(go_on());
        spoil(call, number, true);
        return error;
      case Fault::kCorruptRead:
        HEADRACE_CHECK(go_on());
        spoil(call, number, false);
        return {};
      case Fault::kStall:
        return stall(call, error, go_on);
    }
    return error;
  }

  // Changes one bit of the bytes read, or all bytes from that place to the end.
  void spoil(const StoreCall& call, std::uint64_t number, bool to_the_end) const {
    if (call.moved_bytes == 0) return;
    std::uint64_t at = draw(number, kWhere) % call.moved_bytes;
    bool is_behind = false;
    for (const ReadRequest& read : call.reads) {
      const std::uint64_t size = read.target.size();
      for (std::uint64_t i = is_behind ? 0 : at; i < size; ++i) {
        read.target[i] ^= std::byte{1};
        if (!to_the_end) return;
        is_behind = true;
      }
      at -= std::min(at, size);
    }
  }

  Status stall(const StoreCall& call, const Error& error, const std::function<Status()>& go_on) const {
    const bool is_too_long = options_.stall >= call.options.deadline;
    if (!sleep_unless_stopped(std::min(options_.stall, call.options.deadline), call.options.stop))
      return Error{Code::kCancelled, error.message};
    if (is_too_long) return Error{Code::kDeadlineExceeded, error.message};
    return go_on();
  }

  const FaultOptions options_;
  const std::shared_ptr<FaultAccount> account_;
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace

void FaultAccount::add(InjectedFault fault) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back(std::move(fault));
}

std::vector<InjectedFault> FaultAccount::faults() const {
  const std::scoped_lock lock(mutex_);
  return faults_;
}

std::unique_ptr<Store> make_faulty(std::shared_ptr<Store> store, const FaultOptions& options,
                                   std::shared_ptr<FaultAccount> account) {
  return std::make_unique<FaultyStore>(std::move(store), options, std::move(account));
}

}  // namespace headrace
