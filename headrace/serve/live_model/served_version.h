#pragma once

/// \file One loaded version of a model, ready for requests.

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

/// A loaded model, for example in an engine process. Thread-safe.
class LoadedModel {
 public:
  virtual ~LoadedModel() = default;
  virtual const ServedModel& model() const = 0;
  /// Runs batches of this signature. It lives as long as this model.
  virtual BatchRunner& runner(std::size_t signature) = 0;
  /// Ends the model: batches that run now and all later batches are answered with kUnavailable.
  virtual void end() = 0;
  /// Why the model has ended, whatever the cause; nullopt: it has not ended.
  virtual std::optional<Error> ended() const = 0;
  /// Requests to run before the first request of a client. Their content is not trusted.
  /// \error any  the records cannot be read
  virtual Result<LoggedRecords> warm_up_records(const CallOptions&) { return LoggedRecords{}; }
};

/// A loaded model with a batcher for each of its signatures. Thread-safe.
/// REQUIRES, at destruction: no request is in flight, see is_idle
class ServedVersion {
 public:
  /// `options` are those of every batched signature. Other signatures have batches of one row.
  ServedVersion(std::uint64_t number, std::string digest, std::unique_ptr<LoadedModel> loaded,
                const BatcherOptions& options);
  ServedVersion(const ServedVersion&) = delete;
  ServedVersion& operator=(const ServedVersion&) = delete;

  std::uint64_t number() const { return number_; }
  const std::string& digest() const { return digest_; }
  const ServedModel& model() const { return loaded_->model(); }
  /// The batcher of a signature, which is given by its index in model().signatures.
  Batcher& batcher(std::size_t signature) { return *batchers_[signature]; }

  /// As Batcher::expire, for all signatures.
  void expire();
  /// As Batcher::refuse, for all signatures: no more requests are taken.
  void refuse(const Error& error);
  /// As LoadedModel::end.
  void end() { loaded_->end(); }
  std::optional<Error> ended() const { return loaded_->ended(); }
  /// Whether every request was answered. Once requests are refused, an idle version stays idle.
  bool is_idle() const;
  /// The counts of each signature, in the order of model().signatures.
  std::vector<Batcher::Counts> counts() const;

 private:
  const std::uint64_t number_;
  const std::string digest_;
  const std::unique_ptr<LoadedModel> loaded_;
  std::vector<std::unique_ptr<Batcher>> batchers_;  // one for each signature
};

}  // namespace headrace
