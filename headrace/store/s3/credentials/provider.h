#pragma once

/// \file Caches the keys of a source until they must be fetched again.

#include <condition_variable>
#include <memory>
#include <mutex>

#include "headrace/store/s3/credentials/credentials.h"

namespace headrace {

/// Thread-safe.
class CredentialsProvider {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  using Current = std::shared_ptr<const S3Credentials>;

  CredentialsProvider(CredentialsSource source, Clock now);

  /// The keys to sign with now. The first call fetches them. A call also fetches them if the server has
  /// refused the old keys, or if those are about to expire. Threads that have no valid keys wait for a fetch
  /// that is under way. A failed renewal is not an error while the old keys are valid.
  /// \error kCancelled  a stop was requested on `stop`
  /// \error             as for the source's `fetch`; the message names the source
  Result<Current> get(const std::stop_token& stop);

  /// Whether `get` would fetch keys, or wait for a thread that does.
  bool may_wait();

  /// The last keys. Neither fetches nor waits.
  /// \error kUnauthenticated  there are no valid keys
  Result<Current> at_hand();

  /// To be called when the server refuses these keys. Returns whether `get` may now return other keys. Keys
  /// fetched less than 30 s ago are not fetched again, so that a server that refuses all keys does not cause
  /// endless requests to their source.
  bool refuse(const Current& refused);

  const std::string& source() const { return source_.name; }
  bool is_renewable() const { return source_.is_renewable; }

 private:
  // Called with the mutex held.
  bool has_good(std::chrono::system_clock::time_point now) const;
  Result<Current> fetch(std::unique_lock<std::mutex>& lock, bool is_ahead_of_time,
                        const std::stop_token& stop);
  void keep(S3Credentials fetched);

  const CredentialsSource source_;
  const Clock now_;
  std::mutex mutex_;
  std::condition_variable_any fetch_over_;
  bool is_fetching_ = false;
  std::uint64_t fetches_ = 0;
  Status last_;  // result of the last fetch that was needed and not stopped
  Current current_;
  bool is_refused_ = false;
  std::chrono::system_clock::time_point fetched_at_{};
  std::chrono::system_clock::time_point good_until_{};
  std::chrono::system_clock::time_point renew_at_{};
};

}  // namespace headrace
