#pragma once

/// \file The gRPC server for TensorBoard's data (data_provider.proto), which answers from a LogFolder.

#include <chrono>
#include <memory>
#include <string>

#include "headrace/base/result.h"
#include "headrace/events/log_folder.h"

namespace headrace {

/// Serves from its start until it is destroyed, in threads of its own.
class DataServer {
 public:
  /// \param folder  must outlive the server
  /// \param host    such as "127.0.0.1" or "::1"
  /// \param port    0: any free port
  /// \error kUnavailable  the server cannot listen on the address
  static Result<std::unique_ptr<DataServer>> start(const LogFolder& folder, const std::string& host,
                                                   int port);
  virtual ~DataServer() = default;

  virtual int port() const = 0;
  /// Accepts no further calls; running calls have `grace` to end.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace headrace
