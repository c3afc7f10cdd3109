#include "headrace/filesystem/fetched_range.h"

#include <cstring>
#include <new>
#include <utility>

#include "headrace/base/text.h"

namespace headrace {

MemoryBudget::Share& MemoryBudget::Share::operator=(Share&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryBudget::Share::~Share() {
  if (budget_ == nullptr) return;
  const std::scoped_lock lock(budget_->mutex_);
  budget_->left_ += bytes_;
}

MemoryBudget::Share MemoryBudget::take(std::uint64_t bytes) {
  Share share;
  const std::scoped_lock lock(mutex_);
  if (bytes > left_) return share;
  left_ -= bytes;
  share.budget_ = this;
  share.bytes_ = bytes;
  return share;
}

FetchedRange::FetchedRange(Location object, Version version, std::uint64_t offset_bytes,
                           std::size_t size_bytes, BufferPool& pool, MemoryBudget::Share share)
    : object_(std::move(object)),
      version_(std::move(version)),
      begin_(offset_bytes),
      share_(std::move(share)),
      buffer_(pool.take(size_bytes)) {}

FetchedRange::FetchedRange(std::uint64_t offset_bytes, BytesView data, BufferPool& pool)
    : begin_(offset_bytes), buffer_(pool.take(data.size())), state_(State::kThere) {
  if (!data.empty()) std::memcpy(buffer_.data(), data.data(), data.size());
}

void FetchedRange::fetch(const std::stop_token& stop) {
  {
    const std::scoped_lock lock(mutex_);
    if (state_ != State::kWanted) return;
    state_ = State::kFetching;
  }
  Status status = Error{Code::kResourceExhausted, concat(object_.describe(), ": out of memory")};
  try {
    status = read_exactly(*object_.store, object_.key, buffer_.bytes(),
                          {.offset_bytes = begin_, .if_version = version_, .call = {.stop = stop}});
  } catch (const std::bad_alloc&) {
    // The threads that wait for the range must get the error.
  }
  const std::scoped_lock lock(mutex_);
  state_ = status ? State::kThere : State::kFailed;
  if (!status) error_ = std::move(status).error();
  changed_.notify_all();
}

Result<BytesView> FetchedRange::wait(const std::stop_token& stop) {
  fetch(stop);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return state_ == State::kThere || state_ == State::kFailed; });
  if (state_ == State::kFailed) return error_;
  return buffer_.view();
}

bool FetchedRange::has_failed() const {
  const std::scoped_lock lock(mutex_);
  return state_ == State::kFailed;
}

}  // namespace headrace
