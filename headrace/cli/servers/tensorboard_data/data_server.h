#pragma once

/// \file The gRPC side of TensorBoard's data server: data_provider.proto, answered from a LogFolder.

#include <chrono>
#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/events/log_folder.h"

namespace headrace {

/// Serves from construction until it is destroyed, from threads of its own.
class DataServer {
 public:
  /// \param folder  must outlive the server
  /// \param host    as "127.0.0.1" or "::1"
  /// \param port    0: any that is free
  /// \error kUnavailable  the address cannot be listened on
  static Result<std::unique_ptr<DataServer>> start(const LogFolder& folder, const std::string& host,
                                                   int port);
  virtual ~DataServer() = default;

  virtual int port() const = 0;
  /// Takes no further calls; those that run have so long to end.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace headrace
