#pragma once

/// \file The addresses that a server's command line names, and the file with its ports.

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/base/result.h"

namespace headrace {

/// A host and a port as one text: "127.0.0.1:8501", "[::1]:8501".
std::string listen_address(const std::string& host, std::int64_t port);

/// Writes the ports in decimal, one on each line. The file appears only when it is complete. Does nothing if
/// the path is empty.
/// \error kUnavailable  it cannot be written
Status write_port_file(const std::string& path, const std::vector<std::uint16_t>& ports);

}  // namespace headrace
