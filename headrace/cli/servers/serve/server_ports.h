#pragma once

/// \file The addresses that a server's command line names, and the file that tells its ports.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// "127.0.0.1:8501", "[::1]:8501".
std::string listen_address(const std::string& host, std::int64_t port);

/// Writes the ports, in decimal, on a line each; the file is there when it is whole. An empty path: none.
/// \error kUnavailable
Status write_port_file(const std::string& path, const std::vector<std::uint16_t>& ports);

}  // namespace headrace
