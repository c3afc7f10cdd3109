#pragma once

/// \file One loaded version of a model, ready to be asked.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/serve/batch/batcher.h"
#include "headrace/serve/request_log/logged_records.h"
#include "headrace/serve/signature/served_signature.h"

namespace headrace {

/// A model that something has loaded, such as an engine process. Thread-safe.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;
  virtual const ServedModel& model() const = 0;
  /// Runs batches of this signature. Lives as long as this.
  virtual BatchRunner& runner(std::size_t signature) = 0;
  /// Batches that run, and those that come from now on, are answered with kUnavailable.
  virtual void end() = 0;
  /// Why that is so, whatever the cause; none: it is not.
  virtual std::optional<Error> ended() const = 0;
  /// Requests that it is to run before clients ask it. They are not trusted.
  /// \error any  they cannot be read
  virtual Result<LoggedRecords> warm_up_records(const CallOptions&) { return LoggedRecords{}; }
};

/// Thread-safe. REQUIRES, at its end: no request is in flight, see is_idle
class ServedVersion {
 public:
  /// `options`: of each signature that is batched; others have batches of one row.
  ServedVersion(std::uint64_t number, std::string digest, std::unique_ptr<LoadedModel> loaded,
                const BatcherOptions& options);
  ServedVersion(const ServedVersion&) = delete;
  ServedVersion& operator=(const ServedVersion&) = delete;

  std::uint64_t number() const { return number_; }
  const std::string& digest() const { return digest_; }
  const ServedModel& model() const { return loaded_->model(); }
  /// The batches of a signature: its place in model().signatures.
  Batcher& batcher(std::size_t signature) { return *batchers_[signature]; }

  /// Answers requests whose deadline has passed.
  void expire();
  /// Takes no more requests.
  void refuse(const Error& error);
  /// As LoadedModel::end.
  void end() { loaded_->end(); }
  std::optional<Error> ended() const { return loaded_->ended(); }
  /// Whether every request was answered. Once it refuses requests, it stays so.
  bool is_idle() const;
  std::vector<Batcher::Counts> counts() const;

 private:
  const std::uint64_t number_;
  const std::string digest_;
  const std::unique_ptr<LoadedModel> loaded_;
  std::vector<std::unique_ptr<Batcher>> batchers_;  // of each signature
};

}  // namespace headrace
