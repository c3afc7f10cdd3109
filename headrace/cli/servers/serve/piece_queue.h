#pragma once

/// \file Passes the pieces of a body from one thread to another, a few at a time.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "headrace/base/result.h"

namespace headrace {

/// Size of each piece; the last one may be smaller.
inline constexpr std::size_t kBodyPieceBytes = std::size_t{1} << 20;

/// A queue of pieces: one thread puts, and one thread takes. Each may wait for the other, or be notified by a
/// callback. `end` and `break_off` end a wait: the server breaks off a stream when its connection ends, at
/// the latest when the other side of the connection moves too slowly. Thread-safe.
template <typename Piece>
class PieceQueue {
 public:
  static constexpr std::size_t kMost = 2;

  /// Sets a function that is called after each change, in the thread that makes the change, without a lock.
  /// Looking for a piece where there is none is no change, so the callback may do so.
  void on_change(std::function<void()> callback) {
    const std::scoped_lock lock(mutex_);
    callback_ = std::move(callback);
  }

  bool is_full() const {
    const std::scoped_lock lock(mutex_);
    return pieces_.size() >= kMost;
  }
  /// Puts a piece; waits for room. \error why the stream was broken off
  Status put(Piece piece) {
    return change([&](std::unique_lock<std::mutex>& lock) -> Status {
      changed_.wait(lock, [this] { return pieces_.size() < kMost || broken_; });
      if (broken_) return *broken_;
      pieces_.push_back(std::move(piece));
      return {};
    });
  }
  /// Says that nothing more will be put.
  void end() {
    static_cast<void>(change([&](auto&) -> Status {
      has_ended_ = true;
      return {};
    }));
  }
  /// Takes a piece; waits for one. None at the end. \error why the stream was broken off
  Result<std::optional<Piece>> take() {
    std::optional<Piece> piece;
    HEADRACE_CHECK(change([&](std::unique_lock<std::mutex>& lock) -> Status {
      changed_.wait(lock, [this] { return !pieces_.empty() || has_ended_ || broken_; });
      if (broken_) return *broken_;
      piece = pop();
      return {};
    }));
    return piece;
  }
  /// Takes a piece without waiting; none if there is none now.
  std::optional<Piece> take_now() {
    std::unique_lock lock(mutex_);
    std::optional<Piece> piece = pop();
    if (piece) tell(lock);
    return piece;
  }
  /// Whether no more pieces will come.
  bool is_over() const {
    const std::scoped_lock lock(mutex_);
    return broken_ || (has_ended_ && pieces_.empty());
  }
  /// Ends the stream early, from either side, and drops all pieces. `why`: what the other side is told; the
  /// first reason counts.
  void break_off(Error why) {
    static_cast<void>(change([&](auto&) -> Status {
      if (!broken_) broken_ = std::move(why);
      pieces_.clear();
      return {};
    }));
  }

 private:
  // REQUIRES: mutex_ is held
  std::optional<Piece> pop() {
    if (pieces_.empty()) return std::nullopt;
    std::optional<Piece> piece(std::move(pieces_.front()));
    pieces_.pop_front();
    return piece;
  }

  template <typename Make>
  Status change(const Make& make) {
    std::unique_lock lock(mutex_);
    Status made = make(lock);
    tell(lock);
    return made;
  }
  // Unlocks.
  void tell(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> callback = callback_;
    changed_.notify_all();
    lock.unlock();
    if (callback) callback();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool has_ended_ = false;
  std::optional<Error> broken_;
  std::function<void()> callback_;
};

}  // namespace headrace
