#pragma once

/// \file Opens listening sockets.

#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/os/file_descriptor.h"

namespace headrace {

struct ListenSocket {
  FileDescriptor socket;  // non-blocking
  std::uint16_t port = 0;
  bool is_ipv6 = false;
};

/// Listens on all addresses of a host: "127.0.0.1:8501", "[::1]:8501", "localhost:8501". With port 0, the
/// system chooses one port for all of them. If the host is a name, waits for the system's resolver.
/// \error kInvalidArgument     the text is not such an address
/// \error kFailedPrecondition  the port is in use or not allowed, or this machine has no such address
/// \error kResourceExhausted   the system has no descriptor left
Result<std::vector<ListenSocket>> listen_at(const std::string& address);

}  // namespace headrace
