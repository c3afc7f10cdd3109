#pragma once

/// \file Keeps a source's keys until they must be had anew.

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

  /// The keys to sign with now. The first call fetches them, and so does one that finds them about to expire
  /// or refused; others that need them wait for that one. A renewal that fails is no error while the old ones
  /// are good.
  /// \error kCancelled  `stop` was requested; else as the source's, saying which source
  Result<Current> get(const std::stop_token& stop);

  /// Whether `get` would fetch, or wait for who does.
  bool may_wait();

  /// The keys had last, without fetching or waiting.
  /// \error kUnauthenticated  there are none that are good
  Result<Current> at_hand();

  /// The server does not accept these. True: `get` may bring others. Keys fetched less than 30 s ago are not
  /// fetched anew, so that a server that refuses all of them does not have their source asked without end.
  bool refuse(const Current& refused);

  const std::string& source() const { return source_.name; }
  bool is_renewable() const { return source_.is_renewable; }

 private:
  // Under the mutex.
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
  Status last_;  // of the last fetch that was needed and not stopped
  Current current_;
  bool is_refused_ = false;
  std::chrono::system_clock::time_point fetched_at_{};
  std::chrono::system_clock::time_point good_until_{};
  std::chrono::system_clock::time_point renew_at_{};
};

}  // namespace headrace
